// One call of a host kernel as a program: its arguments and what it is to compute.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "program/run/method.h"
#include "support/programs.h"

namespace isthmus::host_case {

// An argument of a call: inputs and outputs of the program, and values that it holds.
struct In {
  Tensor tensor;
};
struct Ins {
  std::vector<Tensor> tensors;
};
struct Ints {
  std::vector<std::int64_t> numbers;
};
struct Out {
  Tensor expected;
};
struct Outs {  // one list of them
  std::vector<Tensor> expected;
};
struct OutNumber {
  pte::Value before;
  Tensor expected;
};
struct Result {};  // the outs once more
using Arg = std::variant<In, Ins, Ints, Out, Outs, OutNumber, Result, pte::Value>;
inline Arg none() { return pte::Value(pte::None{}); }
inline Arg number(std::int64_t value) { return pte::Value(value); }
inline Arg real(double value) { return pte::Value(value); }
inline Arg flag(bool value) { return pte::Value(value); }

struct Case {
  std::string kernel;
  std::vector<Arg> args;
};

struct Built {
  test::ProgramBuilder builder;
  std::vector<Tensor> inputs;
  std::vector<Tensor> expected;
};

class CaseBuilder {
 public:
  Built run(const Case& facts) {
    std::vector<pte::ValueIndex> args;
    for (const Arg& arg : facts.args) {
      args.push_back(std::visit([&](const auto& alternative) { return add(alternative); }, arg));
    }
    built_.builder.call(facts.kernel, std::move(args));
    return std::move(built_);
  }

 private:
  pte::ValueIndex tensor(const Tensor& like) {
    return built_.builder.tensor({like.sizes().begin(), like.sizes().end()}, like.dtype());
  }
  pte::ValueIndex add(const In& in) {
    built_.inputs.push_back(in.tensor);
    return built_.builder.input(tensor(in.tensor));
  }
  pte::ValueIndex add(const Ins& ins) {
    pte::TensorList list;
    for (const Tensor& each : ins.tensors) list.items.push_back(add(In{each}));
    return built_.builder.value(std::move(list));
  }
  pte::ValueIndex add(const Ints& ints) { return built_.builder.ints(ints.numbers); }
  pte::ValueIndex add(const Out& out) {
    built_.expected.push_back(out.expected);
    outs_.items.push_back(built_.builder.output(tensor(out.expected)));
    return outs_.items.back();
  }
  pte::ValueIndex add(const Outs& outs) {
    for (const Tensor& expected : outs.expected) add(Out{expected});
    list_ = built_.builder.value(outs_);
    return *list_;
  }
  pte::ValueIndex add(const OutNumber& out) {
    built_.expected.push_back(out.expected);
    return built_.builder.output(built_.builder.value(out.before));
  }
  pte::ValueIndex add(Result) {
    if (list_) return *list_;
    return outs_.items.size() == 1 ? outs_.items[0] : built_.builder.value(outs_);
  }
  pte::ValueIndex add(const pte::Value& value) { return built_.builder.value(value); }

  Built built_;
  pte::TensorList outs_;
  std::optional<pte::ValueIndex> list_;
};

inline Expected<std::vector<std::optional<Tensor>>> computed(const Built& built) {
  auto method = TRY(run::Method::load(built.builder.file()));
  return method.run(built.inputs);
}

}  // namespace isthmus::host_case
