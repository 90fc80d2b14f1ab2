// Reads arbitrary bytes as a program file; what is accepted is shown, written again, loaded and run.
#include <cstdlib>

#include "formats/executorch/pte.h"
#include "fuzz/flatbuffer_mutator.h"
#include "program/run/measure.h"
#include "program/run/method.h"
#include "report/program.h"

namespace {

void require(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const isthmus::Blob file(std::as_bytes(std::span(data, size)), nullptr);
  const auto program = isthmus::pte::read_program(file);
  if (!program) {
    require(!program.error().text().empty());
    return 0;
  }
  require(isthmus::pte::looks_like_program(file));
  auto bytes = isthmus::pte::write_program(*program);
  require(bytes.has_value());
  const auto again = isthmus::pte::read_program(isthmus::Blob::owning_block(*std::move(bytes)));
  require(again.has_value() && again->plans.size() == program->plans.size());
  const isthmus::run::LoadOptions options{.max_bytes = 1 << 20, .max_instructions = 200, .max_work = 1 << 20};
  for (std::size_t i = 0; i < program->plans.size(); ++i) {
    const isthmus::pte::Plan& plan = program->plans[i];
    require(again->plans[i].values.size() == plan.values.size() && again->plans[i].chains == plan.chains);
    require(!isthmus::to_json(isthmus::summarize("fuzzed", size, *program, plan)).empty());
    auto method = isthmus::run::Method::load(file, plan.name, options);
    if (!method) {
      require(!method.error().text().empty());
      continue;
    }
    const auto inputs = isthmus::run::plain_inputs(*method, options.max_bytes);
    if (!inputs) continue;
    const auto first = method->run(*inputs);
    const auto second = method->run(*inputs);
    require(!first || first->size() == method->output_count());
    require(second || !second.error().text().empty());
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  return isthmus::fuzz::mutate_flatbuffer(data, size, max, seed);
}
