// Calls of host kernels while a program is built.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "formats/executorch/pte.h"
#include "targets/host/program_values.h"

namespace isthmus::host {

class CallWriter {
 public:
  CallWriter(ProgramValues& values, pte::Plan& plan) : values_(values), plan_(plan) {}

  // Appends a call. Arguments that are not the kernel's are our bug.
  void call(std::string_view kernel, std::vector<pte::ValueIndex> args, const std::vector<pte::ValueIndex>& outs);

  // The elements of a tensor, to one of the same type that nothing was written to yet, or to a place that is kept.
  void copy(pte::ValueIndex from, pte::ValueIndex to);
  void write_back(pte::ValueIndex place, pte::ValueIndex written);

  // An integer of the program: the number, or what the program computes of the sizes of its inputs before anything
  // else. Fails where they do not determine it.
  Expected<pte::ValueIndex> size(Dim dim);

  // The calls that compute sizes: they run before all others.
  std::vector<pte::Instruction> take_size_calls() { return std::move(size_calls_); }

 private:
  pte::Instruction made(std::string_view kernel, std::vector<pte::ValueIndex> args);
  pte::ValueIndex primitive(std::string_view kernel, pte::ValueIndex a, pte::ValueIndex b);
  Expected<pte::ValueIndex> computed(Dim dim);
  Expected<pte::ValueIndex> factor(const Exprs::Factor& factor);
  Expected<pte::ValueIndex> symbol(std::string_view name);
  Expected<pte::ValueIndex> size_of_input(ValueId input, std::size_t axis);

  ProgramValues& values_;
  pte::Plan& plan_;
  std::vector<pte::Instruction> size_calls_;
  std::map<Dim, pte::ValueIndex> sizes_;
  std::map<std::string, pte::ValueIndex, std::less<>> symbols_;
};

}  // namespace isthmus::host
