// Calls vela and reads what it wrote.
#include "targets/ethos_u/vela.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <span>

#include "base/process.h"
#include "base/untrusted_text.h"
#include "formats/tosa/tosa.h"

namespace isthmus::ethos_u {
namespace {

// The last lines, in which a program says why it ended.
std::string end_of(std::string_view text) {
  constexpr std::size_t kMaxBytes = 1000;
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  if (text.size() > kMaxBytes) text.remove_prefix(text.size() - kMaxBytes);
  return std::string(text);
}

bool has_word(std::string_view text, std::string_view word) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

std::string operator_text(const tosa::Graph& graph, const tosa::Operator& op) {
  const std::string& name = graph.values[op.outputs[0]].name;
  return fmt::format("{} {}{}", name_of(op.op), shown(name), op.location.empty() ? "" : " (" + op.location + ")");
}

// The first operator of the graph that the text names by its result.
std::optional<std::string> operator_in(const tosa::Graph& graph, std::string_view text) {
  for (const tosa::Operator& op : graph.operators) {
    if (op.inputs.empty()) continue;
    const std::string& name = graph.values[op.outputs[0]].name;
    if (name.empty() || !has_word(text, name)) continue;
    return operator_text(graph, op);
  }
  return std::nullopt;
}

// The line in which it says why, without what Python puts before it and without its quotes.
std::string reason_in(std::string_view text) {
  constexpr std::string_view kError = "Error: ";  // "RuntimeError: ..." ends a traceback; "Error: ..." is vela's own
  std::string_view last;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.front())) != 0) line.remove_prefix(1);
    if (!line.empty()) last = line;
  }
  if (const std::size_t error = last.rfind(kError); error != std::string_view::npos) {
    last.remove_prefix(error + kError.size());
    while (last.ends_with('\'') || last.ends_with('"')) last.remove_suffix(1);
  }
  return std::string(last);
}

// The first `count` operators of a graph, with all that nothing reads any more as its outputs.
tosa::Graph beginning_of(const tosa::Graph& graph, std::size_t count) {
  tosa::Graph result = graph;
  result.operators.resize(count);
  std::vector<bool> is_made(graph.values.size(), false), is_read(graph.values.size(), false);
  for (const tosa::Operator& op : result.operators) {
    for (const tosa::ValueIndex input : op.inputs) is_read[input] = true;
    for (const tosa::ValueIndex output : op.outputs) is_made[output] = !op.inputs.empty();
  }
  std::erase_if(result.inputs, [&](tosa::ValueIndex id) { return !is_read[id]; });
  result.outputs.clear();
  for (tosa::ValueIndex id = 0; id < graph.values.size(); ++id) {
    if (is_made[id] && !is_read[id]) result.outputs.push_back(id);
  }
  return result;
}

// The device copies as many bytes as it says: they must be those of the delegate's arguments.
Expected<void> check_tensors(const tosa::Graph& graph, const std::vector<tosa::ValueIndex>& values,
                             const std::vector<vela::Tensor>& tensors, std::string_view what) {
  if (values.size() != tensors.size()) {
    return bad_input(fmt::format("vela gives {} {}s for a graph with {}", tensors.size(), what, values.size()));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const tosa::Value& value = graph.values[values[i]];
    std::int64_t count = 1;
    for (const std::int32_t size : value.shape) count *= size;
    const auto bytes = std::max<std::uint32_t>(tosa::bits_of(value.type) / 8, 1);
    if (tensors[i].count() == count && tensors[i].element_bytes == static_cast<std::int32_t>(bytes)) continue;
    return bad_input(fmt::format("vela gives {} {} elements of {} bytes for {} of {}", what, tensors[i].count(),
                                 tensors[i].element_bytes, count, bytes));
  }
  return {};
}

// The file of this beginning and end; nothing where there is none.
std::optional<std::string> find_file(const std::string& folder, std::string_view begin, std::string_view end) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(begin) && name.ends_with(end)) found.push_back(entry.path().string());
  }
  if (found.empty()) return std::nullopt;
  return *std::ranges::min_element(found);
}

// How it is called, but for files.
std::vector<std::string> flags_of(const VelaOptions& options) {
  return {"--accelerator-config=" + options.accelerator, "--config=" + options.config, "--output-format=raw",
          "--system-config=" + options.system_config, "--memory-mode=" + options.memory_mode};
}

constexpr std::string_view kVelaBackend = "EthosUBackend";  // of delegates that hold its stream

constexpr FinishOption kProgram{"--vela", "Arm's compiler for Ethos-U; without it, the one on PATH, if any", true};
constexpr FinishOption kConfig{"--vela-config", "its file of systems; without it, Arm/vela.ini"};
constexpr FinishOption kSystem{"--system-config", "the system of that file"};
constexpr FinishOption kMemory{"--memory-mode", "the use of memory of that file"};
constexpr FinishOption kTimeout{"--vela-timeout", "seconds after which it is stopped; 3600 by default"};
constexpr FinishOption kOptions[] = {kProgram, kConfig, kSystem, kMemory, kTimeout};

Expected<std::chrono::seconds> seconds_of(const std::string& text) {
  std::uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc() && end == text.data() + text.size() && seconds > 0) return std::chrono::seconds(seconds);
  return bad_input(fmt::format("{}: {} is not a whole number of seconds", kTimeout.name, shown(text)));
}

// What ExecuTorch writes beside such a stream of how it was made.
std::vector<pte::CompileSpec> specs_of(const VelaOptions& options) {
  const auto spec = [](std::string key, std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return pte::CompileSpec{std::move(key), {bytes.begin(), bytes.end()}};
  };
  const bool is_u85 = options.accelerator.starts_with("ethos-u85-");
  return {spec("tosa_spec", is_u85 ? "TOSA-1.0+INT+int16+int4+cf" : "TOSA-1.0+INT+int16+int4+u55"),
          spec("compile_flags", fmt::format("{}", fmt::join(flags_of(options), " "))), spec("output_format", "vela"),
          spec("preserve_io_quantization", "False"), spec("target", options.accelerator)};
}

Expected<FinishedDelegate> finished(const pte::Delegate& delegate, const VelaOptions& options) {
  VelaResult made = TRY(run_vela(delegate.blob, options));
  FinishedDelegate result{{std::string(kVelaBackend), std::move(made.stream), specs_of(options)}, {}, {}};
  if (!made.estimate) return result;
  const vela::Estimate& estimate = *made.estimate;
  result.figures = {{"cycles", estimate.cycles},
                    {"seconds", estimate.seconds},
                    {"sram_kib", estimate.sram_kib},
                    {"dram_kib", estimate.dram_kib},
                    {"flash_kib", estimate.flash_kib}};
  result.sentence =
      fmt::format("estimates {:.0f} cycles, {:.3f} ms, {:.1f} KiB of SRAM, {:.1f} of DRAM, {:.1f} of flash",
                  estimate.cycles, estimate.seconds * 1e3, estimate.sram_kib, estimate.dram_kib, estimate.flash_kib);
  return result;
}

Expected<std::optional<Finisher>> prepare(std::string_view target, const FinishSettings& settings) {
  VelaOptions options = *usual_vela_options(target);
  const std::string wanted = setting_of(settings, kProgram);
  const auto program = find_program(wanted.empty() ? "vela" : wanted);
  if (!program) {
    if (!wanted.empty()) return bad_input(fmt::format("{} {}: program not found", kProgram.name, wanted));
    return std::optional<Finisher>();
  }
  options.program = *program;
  const auto use = [&](const FinishOption& option, std::string& usual) {
    if (const std::string given = setting_of(settings, option); !given.empty()) usual = given;
  };
  use(kConfig, options.config);
  use(kSystem, options.system_config);
  use(kMemory, options.memory_mode);
  if (const std::string given = setting_of(settings, kTimeout); !given.empty())
    options.timeout = TRY(seconds_of(given));
  Finisher finisher{kVelaStep.name, [options](const pte::Delegate& delegate) { return finished(delegate, options); }};
  if (wanted.empty()) {
    finisher.note =
        fmt::format("delegates are compiled by {}, found on PATH; {} names another", options.program, kProgram.name);
  }
  return finisher;
}

}  // namespace

const FinishingStep kVelaStep{"vela", kOptions, prepare,
                              "vela not found; this .pte contains TOSA and will not run on an Ethos-U: install "
                              "ethos-u-vela or pass --vela. SRAM and cycles are estimates."};

std::optional<VelaOptions> usual_vela_options(std::string_view target) {
  VelaOptions options;
  options.accelerator = target;
  if (target.starts_with("ethos-u55-")) {
    options.system_config = "Ethos_U55_High_End_Embedded";
    options.memory_mode = "Shared_Sram";
  } else if (target.starts_with("ethos-u65-")) {
    options.system_config = "Ethos_U65_High_End";
    options.memory_mode = "Dedicated_Sram_384KB";
  } else if (target.starts_with("ethos-u85-")) {
    options.system_config = "Ethos_U85_SYS_DRAM_Mid";
    options.memory_mode = "Sram_Only";
  } else {
    return std::nullopt;
  }
  return options;
}

namespace {

// One call of the program.
struct Call {
  TemporaryFolder folder;
  FinishedProgram done;

  std::string results() const { return folder.path() + "/out"; }
  std::optional<std::string> network() const { return find_file(results(), "out_", "vela.npz"); }
  bool has_failed() const { return done.code != 0 || !network(); }
};
Expected<Call> call(std::span<const std::byte> tosa, const VelaOptions& options) {
  TemporaryFolder folder = TRY(TemporaryFolder::make());
  const std::string input = folder.path() + "/out.tosa";
  TRY(write_file(input, tosa));
  std::vector<std::string> arguments = flags_of(options);
  arguments.push_back("--output-dir=" + folder.path() + "/out");
  arguments.push_back(input);
  FinishedProgram done = TRY(run_program(options.program, arguments, folder.path() + "/log", options.timeout));
  return Call{std::move(folder), std::move(done)};
}

// A graph that any device takes: where it is refused, the call is wrong and not what is compiled.
tosa::Graph harmless_graph() {
  tosa::Graph graph;
  graph.values = {{"x", tosa::Type::kI8, {1, 1, 1, 16}, {}}, {"y", tosa::Type::kI8, {1, 1, 1, 16}, {}}};
  graph.operators.push_back({tosa::Op::kIdentity, tosa::fields_of(tosa::Op::kIdentity), {0}, {1}});
  graph.inputs = {0};
  graph.outputs = {1};
  return graph;
}

// The first operator that the program gives up at, and what it says then: of all beginnings of the graph that it does
// not take, the shortest one. Nothing where it takes no graph at all.
struct RefusedOperator {
  std::string text;
  std::string reason;
};
std::optional<RefusedOperator> refused_operator(const tosa::Graph& graph, const VelaOptions& options) {
  std::vector<std::size_t> ends;  // behind each operator that computes
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    if (!graph.operators[i].inputs.empty()) ends.push_back(i + 1);
  }
  struct Answer {
    bool is_refused = false;
    std::string reason;
  };
  const auto ask = [&](const tosa::Graph& part) -> std::optional<Answer> {
    const auto bytes = tosa::write_graph(part);
    if (!bytes) return std::nullopt;
    const auto made = call(*bytes, options);
    if (!made) return std::nullopt;
    return Answer{made->has_failed(), reason_in(made->done.text)};
  };
  const auto probe = ask(harmless_graph());
  if (!probe || probe->is_refused) return std::nullopt;
  std::size_t taken = 0;
  std::size_t refused = ends.size();
  std::string reason;
  while (refused - taken > 1) {
    const std::size_t middle = taken + (refused - taken) / 2;
    const auto answer = ask(beginning_of(graph, ends[middle - 1]));
    if (!answer) return std::nullopt;
    (answer->is_refused ? refused : taken) = middle;
    if (answer->is_refused) reason = answer->reason;
  }
  if (refused == 0) return std::nullopt;
  return RefusedOperator{operator_text(graph, graph.operators[ends[refused - 1] - 1]), std::move(reason)};
}

}  // namespace

Expected<VelaResult> run_vela(const Blob& tosa, const VelaOptions& options) {
  const tosa::Graph graph = TRY(tosa::read_graph(tosa));
  const Call made = TRY(call(tosa.bytes(), options));
  const FinishedProgram& done = made.done;
  const std::string results = made.results();
  const auto network_file = made.network();
  if (made.has_failed()) {
    std::string reason = reason_in(done.text);
    auto place = operator_in(graph, done.text);
    if (!place && !reason.empty()) {
      if (auto found = refused_operator(graph, options)) {
        place = std::move(found->text);
        if (!found->reason.empty()) reason = std::move(found->reason);
      }
    }
    std::string message = fmt::format("{} {}: {}", options.program,
                                      done.code != 0 ? fmt::format("ended with {}", done.code) : "wrote no network",
                                      reason.empty() ? "it said nothing" : shown(end_of(reason)));
    if (place) {
      message +=
          "; write this operation in another way, or leave it to the CPU: a [[rule]] of --config with precision = "
          "\"float\" that matches its node";
    }
    Expected<VelaResult> failure = fail(ErrorKind::kUnsupported, std::move(message));
    if (place) failure.error().places.push_back(*place);
    return failure;
  }
  const vela::Network network = TRY(within(vela::read_network(TRY(map_file(*network_file))), *network_file));
  TRY(check_tensors(graph, graph.inputs, network.inputs, "input"));
  TRY(check_tensors(graph, graph.outputs, network.outputs, "output"));
  VelaResult result{Blob::owning(TRY(vela::write_stream(network))), std::nullopt};
  if (const auto summary = find_file(results, "out_summary_", ".csv")) {
    result.estimate = vela::read_summary(TRY(map_file(*summary)).text());
  }
  return result;
}

}  // namespace isthmus::ethos_u
