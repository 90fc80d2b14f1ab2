// Adds up, and looks for what is large.
#include "program/fit/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "targets/host/kernel.h"

namespace isthmus::fit {
namespace {

// Bytes that lie in the file once, however many names they have.
class Counted {
 public:
  std::uint64_t add(const Blob& blob) {
    return seen_.emplace(blob.bytes().data(), blob.size()).second ? blob.size() : 0;
  }

 private:
  std::set<std::pair<const std::byte*, std::size_t>> seen_;
};

Flash flash_of(const pte::Program& program, std::uint64_t file_bytes) {
  Flash flash;
  Counted counted;
  for (const Blob& blob : program.constants) flash.constants += counted.add(blob);
  for (const Blob& blob : program.initial_values) flash.initial_values += counted.add(blob);
  for (const pte::Plan& plan : program.plans) {
    for (const pte::Delegate& delegate : plan.delegates) flash.delegates += counted.add(delegate.blob);
  }
  for (const pte::NamedData& data : program.named_data) flash.named_data += counted.add(data.bytes);
  flash.bytes = file_bytes;
  const std::uint64_t parts = flash.constants + flash.initial_values + flash.delegates + flash.named_data;
  flash.program = file_bytes > parts ? file_bytes - parts : 0;
  return flash;
}

std::vector<std::string> kernels_of(const pte::Plan& plan) {
  constexpr std::string_view kPrimitives = "executorch_prim::";
  std::set<std::string> names;
  for (const pte::Operator& op : plan.operators) {
    std::string name = host::full_name(op);
    if (!name.starts_with(kPrimitives)) names.insert(std::move(name));
  }
  return {names.begin(), names.end()};
}

// In double quotes, as YAML and JSON have it.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

}  // namespace

std::uint64_t Demand::planned_bytes() const {
  std::uint64_t sum = 0;
  for (const PlannedMemory& memory : planned) sum += memory.bytes;
  return sum;
}
std::uint64_t Demand::delegate_bytes() const {
  std::uint64_t sum = 0;
  for (const DelegateMemory& delegate : delegates) sum += delegate.memory;
  return sum;
}
std::uint64_t Demand::temp_bytes() const {
  std::uint64_t max = method.lookup_temp;
  for (const DelegateMemory& delegate : delegates) max = std::max(max, delegate.temp);
  return max;
}
std::uint64_t Demand::sram_bytes() const { return method.bytes + planned_bytes() + delegate_bytes() + temp_bytes(); }

Demand demand_of(const pte::Program& program, const pte::Plan& plan, std::uint64_t file_bytes,
                 std::uint64_t pointer_bytes, std::vector<DelegateMemory> delegates) {
  return {.pointer_bytes = pointer_bytes,
          .method = method_memory(plan, pointer_bytes),
          .planned = planned_memory(plan),
          .delegates = std::move(delegates),
          .flash = flash_of(program, file_bytes),
          .kernels = kernels_of(plan)};
}

std::vector<std::string> advice(const Demand& demand) {
  struct Way {
    std::uint64_t saved;
    std::string text;
  };
  std::vector<Way> ways;
  for (const PlannedMemory& memory : demand.planned) {
    std::uint64_t io = 0;
    std::uint64_t floats = 0;
    for (const PlannedTensor& tensor : memory.peak) {
      const bool is_io = tensor.role.starts_with("input") || tensor.role.starts_with("output");
      if (!is_io) continue;
      io += tensor.bytes;
      if (tensor.type.starts_with("f32")) floats += tensor.bytes;
    }
    if (floats > 0) {
      ways.push_back(
          {floats / 4 * 3,
           fmt::format("int8 inputs and outputs (`isthmus compile --io int8`) save {} bytes at the peak of memory {}",
                       floats / 4 * 3, memory.id)});
    }
    if (io > 0) {
      ways.push_back({io, fmt::format("inputs and outputs take {} bytes at the peak of memory {}; an application that "
                                      "supplies its own buffers saves them",
                                      io, memory.id)});
    }
    if (memory.bytes > memory.min + memory.min / 16 + 128) {
      ways.push_back(
          {memory.bytes - memory.min,
           fmt::format(
               "memory {} is planned with {} bytes more than are alive at any time: another memory plan needs less",
               memory.id, memory.bytes - memory.min)});
    }
    if (!memory.peak.empty() && memory.peak[0].role.empty()) {
      ways.push_back({memory.peak[0].bytes / 2,
                      fmt::format("{} at instruction {} is the largest tensor at the peak of memory {}: reduce the "
                                  "image or batch size, or move its neighbours into the same delegate",
                                  memory.peak[0].type, memory.instruction, memory.id)});
    }
  }
  for (const DelegateMemory& delegate : demand.delegates) {
    if (delegate.temp == 0 || delegate.temp < demand.planned_bytes()) continue;
    ways.push_back({delegate.temp / 2, fmt::format("the scratch memory of {}, {} bytes, is the larger part: vela's "
                                                   "--optimise Size reduces it but needs more cycles",
                                                   delegate.backend, delegate.temp)});
  }
  std::ranges::stable_sort(ways, std::ranges::greater(), &Way::saved);
  std::vector<std::string> result;
  for (Way& way : ways) result.push_back(std::move(way.text));
  return result;
}

std::string selected_operators(const Demand& demand, const std::string& model) {
  const bool is_empty = demand.kernels.empty();
  std::string out = "build_features: []\ncustom_classes: []\n";
  out += is_empty ? "et_kernel_metadata: {}\n" : "et_kernel_metadata:\n";
  for (const std::string& kernel : demand.kernels) out += fmt::format("  {}:\n  - default\n", quoted(kernel));
  out += "include_all_non_op_selectives: false\ninclude_all_operators: false\nkernel_metadata: {}\n";
  out += is_empty ? "operators: {}\n" : "operators:\n";
  for (const std::string& kernel : demand.kernels) {
    out += fmt::format(
        "  {}:\n    debug_info:\n    - {}\n    include_all_overloads: false\n    is_root_operator: true\n"
        "    is_used_for_training: true\n",
        quoted(kernel), quoted(model));
  }
  return out;
}

}  // namespace isthmus::fit
