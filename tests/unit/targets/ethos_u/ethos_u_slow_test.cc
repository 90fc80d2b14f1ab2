// The descriptions of the devices behind TOSA against what Arm's compiler takes, and against real models.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "ir/specialize.h"
#include "session/stages.h"
#include "support/compile.h"
#include "support/ethos_u_lowered.h"
#include "targets/ethos_u/limits.h"
#include "targets/registry.h"
#include "targets/target.h"

namespace isthmus::ethos_u_slow_test {
namespace {

using ethos_u::Device;
using ethos_u::TosaForm;
using tosa::Type;

// The name of a test vector says what its one operator is: conv2d_3x3_1x6x7x4_i8xi8_acci32_st11_pad0000_...
class VectorName {
 public:
  explicit VectorName(const std::string& name) {
    std::stringstream stream(name);
    for (std::string word; std::getline(stream, word, '_');) words_.push_back(word);
  }

  // The first word that begins so and goes on with a number or sign, without its beginning; "" where there is none.
  std::string after(const std::string& prefix) const {
    for (const std::string& word : words_) {
      const bool has_number =
          word.size() > prefix.size() &&
          (std::isdigit(static_cast<unsigned char>(word[prefix.size()])) != 0 || word[prefix.size()] == '-');
      if (word.starts_with(prefix) && has_number) return word.substr(prefix.size());
    }
    return {};
  }
  bool has(const std::string& word) const { return std::ranges::find(words_, word) != words_.end(); }
  // Digits, each a number of its own, perhaps with a sign.
  Ints digits(const std::string& prefix) const {
    Ints result;
    std::int64_t sign = 1;
    for (const char letter : after(prefix)) {
      if (letter != '-') result.push_back(sign * (letter - '0'));
      sign = letter == '-' ? -1 : 1;
    }
    return result;
  }
  // The word before the first element type, by its sizes; "0" is a tensor without axes.
  Ints shape() const {
    for (std::size_t i = 1; i < words_.size(); ++i) {
      if (type_of(words_[i]) != Type::kUnknown && words_[i - 1] != "0") return sizes(words_[i - 1]);
    }
    return {};
  }
  Type type() const {
    for (const std::string& word : words_) {
      if (type_of(word) != Type::kUnknown) return type_of(word);
    }
    return Type::kUnknown;
  }
  Type output_type() const {
    for (const std::string& word : words_) {
      if (word.starts_with("out") && type_of(word.substr(3)) != Type::kUnknown) return type_of(word.substr(3));
    }
    return type();
  }
  static Ints sizes(const std::string& word) {
    Ints result;
    std::stringstream stream(word);
    for (std::string size; std::getline(stream, size, 'x');) result.push_back(std::stoll(size));
    return result;
  }

 private:
  static Type type_of(const std::string& word) {
    static const std::map<std::string, Type> kTypes{{"b", Type::kBool},   {"i4", Type::kI4},     {"i8", Type::kI8},
                                                    {"i16", Type::kI16},  {"i32", Type::kI32},   {"i48", Type::kI48},
                                                    {"i8xi8", Type::kI8}, {"i16xi8", Type::kI16}};
    const auto found = kTypes.find(word);
    return found == kTypes.end() ? Type::kUnknown : found->second;
  }

  std::vector<std::string> words_;
};

const std::map<std::string, tosa::Op>& operators() {
  using tosa::Op;
  static const std::map<std::string, Op> kOperators{
      {"abs", Op::kAbs},
      {"add", Op::kAdd},
      {"argmax", Op::kArgMax},
      {"arithmetic_right_shift", Op::kArithmeticRightShift},
      {"avg_pool2d", Op::kAvgPool2d},
      {"bitwise_and", Op::kBitwiseAnd},
      {"bitwise_not", Op::kBitwiseNot},
      {"bitwise_or", Op::kBitwiseOr},
      {"bitwise_xor", Op::kBitwiseXor},
      {"cast", Op::kCast},
      {"clamp", Op::kClamp},
      {"clz", Op::kClz},
      {"concat", Op::kConcat},
      {"conv2d_3x3", Op::kConv2d},
      {"depthwise_conv2d_3x3", Op::kDepthwiseConv2d},
      {"equal", Op::kEqual},
      {"gather", Op::kGather},
      {"greater", Op::kGreater},
      {"identity", Op::kIdentity},
      {"intdiv", Op::kIntDiv},
      {"logical_and", Op::kLogicalAnd},
      {"logical_left_shift", Op::kLogicalLeftShift},
      {"logical_not", Op::kLogicalNot},
      {"logical_or", Op::kLogicalOr},
      {"logical_right_shift", Op::kLogicalRightShift},
      {"logical_xor", Op::kLogicalXor},
      {"max_pool2d", Op::kMaxPool2d},
      {"maximum", Op::kMaximum},
      {"minimum", Op::kMinimum},
      {"mul", Op::kMul},
      {"negate", Op::kNegate},
      {"pad", Op::kPad},
      {"reduce_all", Op::kReduceAll},
      {"reduce_any", Op::kReduceAny},
      {"reduce_max", Op::kReduceMax},
      {"reduce_min", Op::kReduceMin},
      {"reduce_sum", Op::kReduceSum},
      {"rescale", Op::kRescale},
      {"reshape", Op::kReshape},
      {"resize", Op::kResize},
      {"reverse", Op::kReverse},
      {"select", Op::kSelect},
      {"slice", Op::kSlice},
      {"sub", Op::kSub},
      {"table", Op::kTable},
      {"tile", Op::kTile},
      {"transpose", Op::kTranspose},
      {"transpose_conv2d_3x3", Op::kTransposeConv2d},
  };
  return kOperators;
}

TosaForm form_of(const std::string& op, const std::string& text) {
  const VectorName name(text.substr(op.size()));
  const Ints shape = name.shape();
  TosaForm form{operators().at(op), {{name.type(), shape}}, {name.output_type(), shape}};
  if (form.op == tosa::Op::kSelect) form.inputs.insert(form.inputs.begin(), {Type::kBool, shape});
  form.stride = name.digits("st");
  form.kernel = name.digits("kern");
  form.dilation = name.digits("dilat");
  form.rounds = !name.has("roundFalse");
  if (const std::string axis = name.after("axis"); !axis.empty()) form.axis = std::stoll(axis);
  if (op.ends_with("_3x3")) {
    form.kernel = {3, 3};
    form.inputs.push_back({Type::kI8, {8, 3, 3, shape.back()}});
  }
  if (!form.kernel.empty()) form.pad = name.digits("pad");
  if (form.op == tosa::Op::kResize) {
    form.scale = VectorName::sizes(name.after("sc"));
    form.offset = VectorName::sizes(name.after("off"));
    form.border = VectorName::sizes(name.after("bor"));
  }
  return form;
}

// The compiler takes more than its documentation lists, and takes one thing less on some shapes. The documentation
// counts, so these are refused here.
bool is_stricter_by_documentation(const std::string& op, const std::string& name) {
  if (op == "arithmetic_right_shift") return name.ends_with("roundFalse");    // the report: right shifts must round
  if (op == "cast") return name.find("_i32_outi") != std::string::npos;       // the report: i32 is not narrowed
  if (op == "reverse") return name == "reverse_1x5x6x4_i8_axis0";             // the report: height and width alone
  if (op == "rescale") return name.find("_i32_outi32") != std::string::npos;  // accepted, but its results are zeros
  return false;
}

TEST(EthosUAcceptance, AgreesWithTheCompiler) {
  const std::filesystem::path path = test::shared_dir() / "tosa-vectors" / "vela-5.1-acceptance.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the acceptance table is not here";
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  std::size_t total = 0;
  std::map<std::string, int> stricter;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    ASSERT_GE(cells.size(), 4U) << line;
    const std::string op = cells[0].substr(0, cells[0].find('/'));
    const std::string name = cells[0].substr(op.size() + 1);
    const TosaForm form = form_of(op, name);
    ++total;
    const struct {
      Device device;
      bool is_taken;
    } sides[] = {{Device::kU55, cells[1] == "ok"}, {Device::kU85, cells[3] == "ok"}};
    for (const auto& [device, is_taken] : sides) {
      const auto reason = ethos_u::refusal(form, device);
      const std::string where = cells[0] + (device == Device::kU55 ? " on U55" : " on U85");
      if (is_taken && reason) {
        EXPECT_TRUE(is_stricter_by_documentation(op, name)) << where << " is refused: " << text_of(*reason);
        ++stricter[reason->got.substr(0, reason->got.find(';'))];
      }
      EXPECT_FALSE(!is_taken && !reason) << where << " is taken";
    }
  }
  std::cout << total << " vectors; stricter than the compiler in\n";
  for (const auto& [what, count] : stricter) std::cout << "  " << count << " of " << what << "\n";
  EXPECT_EQ(total, 808U);
}

// An archive with its sizes fixed to those of its example.
Expected<Graph> fixed_graph(const std::filesystem::path& path) {
  Diagnostics diagnostics;
  const auto model = TRY(test::open(path, diagnostics));
  SymbolValues sizes;
  for (const Symbol& symbol : model.graph.exprs().symbols()) sizes[symbol.name] = symbol.hint.value_or(2);
  return specialize(model.graph, sizes, {});
}

// The ops of a model that a target refuses with int8 values, each with the reason's code.
std::set<std::string> refused(const Expected<Graph>& graph, const TargetDesc& target) {
  if (!graph) return {"load: " + graph.error().text()};
  Diagnostics diagnostics;
  const auto prepared = prepare(*graph, {&target, {}}, diagnostics);
  if (!prepared) return {"prepare: " + prepared.error().text()};
  std::set<std::string> result;
  for (const Node& node : prepared->graph.nodes()) {
    const auto reason = target.integers.refusal(prepared->graph, node, DType::kI8);
    if (reason) result.insert(fmt::format("{} [{}] {}", name_of(node.op), code_text(reason->code), reason->got));
  }
  return result;
}

// But for the zoo, which also has models with parts that no NPU computes.
TEST(EthosUModels, AreLegalAsAWhole) {
  const std::filesystem::path folder = test::shared_dir() / "models";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the models are not here";
  for (auto entries = std::filesystem::recursive_directory_iterator(folder); entries != end(entries); ++entries) {
    const std::filesystem::directory_entry& entry = *entries;
    if (entry.path().filename() == "zoo") entries.disable_recursion_pending();
    if (!entry.path().filename().string().starts_with("model") || entry.path().extension() != ".pt2") continue;
    const auto graph = fixed_graph(entry.path());
    for (const auto& [target, device] : test::kEthosUTargets) {
      for (const std::string& line : refused(graph, *find_target(target))) {
        ADD_FAILURE() << entry.path().parent_path().filename() << " " << entry.path().filename() << " on " << target
                      << ": " << line;
      }
    }
  }
}

// Calibrated on a few samples, lowered, and computed both ways.
TEST(EthosUModels, ComputeTheSameBitsInTosa) {
  const std::filesystem::path folder = test::shared_dir() / "models";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the models are not here";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::filesystem::path data = entry.path() / "calib.npz";
    if (!std::filesystem::exists(entry.path() / "model.pt2") || !std::filesystem::exists(data)) continue;
    Diagnostics diagnostics;
    const auto model = test::open(entry.path() / "model.pt2", diagnostics);
    ASSERT_TRUE(model) << model.error().text();
    const std::vector<Tensor> inputs = test::read_tensors(entry.path(), "input_");
    for (const auto& [name, device] : test::kEthosUTargets) {
      const TargetDesc& target = *find_target(name);
      const auto prepared = prepare(model->graph, {&target, {}}, diagnostics);
      ASSERT_TRUE(prepared) << prepared.error().text();
      const auto samples = open_samples(data.string(), prepared->graph, {4}, diagnostics);
      ASSERT_TRUE(samples) << samples.error().text();
      const auto made = test::quantized_for(*prepared, target, **samples, {});
      ASSERT_TRUE(made) << entry.path() << " " << name << ": " << made.error().text();
      EXPECT_EQ(test::lowered_problem(*made, device, inputs), "") << entry.path() << " on " << name;
    }
  }
}

TEST(EthosUModels, CorpusIsLegalWhereItComputesInFloat) {
  const std::filesystem::path folder = test::shared_dir() / "models" / "ops";
  if (!std::filesystem::exists(folder / "index.json")) GTEST_SKIP() << "the operator corpus is not here";
  struct Count {
    std::size_t whole = 0;
    std::map<std::string, std::vector<std::string>> reasons;
  };
  std::map<std::string, Count> counts;
  const auto cases = test::corpus_cases(folder);
  for (const test::CorpusCase& facts : cases) {
    const auto graph = fixed_graph(folder / (facts.name + ".pt2"));
    for (const auto& [target, device] : test::kEthosUTargets) {
      Count& count = counts[std::string(target)];
      const auto lines = refused(graph, *find_target(target));
      count.whole += lines.empty() ? 1 : 0;
      for (const std::string& line : lines) count.reasons[line.substr(0, line.find(']') + 1)].push_back(facts.name);
      const bool must_be_whole = facts.name.starts_with("case_") || facts.name.starts_with("chain_");
      if (must_be_whole && !lines.empty()) ADD_FAILURE() << facts.name << " on " << target << ": " << *lines.begin();
    }
  }
  for (const auto& [target, count] : counts) {
    std::cout << target << ": " << count.whole << " of " << cases.size()
              << " archives are legal as a whole; the others\n";
    for (const auto& [reason, names] : count.reasons) {
      std::cout << "  " << reason << " in " << names.size() << ": " << names.front()
                << (names.size() > 1 ? ", " + names[1] : "") << (names.size() > 2 ? ", ..." : "") << "\n";
    }
  }
}

}  // namespace
}  // namespace isthmus::ethos_u_slow_test
