// What the readers of ONNX's operators share. Operands that are constant in real models (axes, sizes, bounds) are
// attributes in old opsets and inputs in new ones: both are read by one name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/call.h"
#include "ops/op_def.h"

namespace isthmus::onnx_ops {

// A row of the table. "onnx.Softmax.13" holds from opset 13 on, up to the next row of that name; "onnx.Relu" holds for
// every opset. `inputs` names the inputs in order; "inputs..." takes all that are left.
struct Row {
  std::string_view name;
  std::string_view inputs;
  Reader reader;
};
constexpr Row row(std::string_view name, std::string_view inputs, Reader reader) { return {name, inputs, reader}; }

// The rows as a family of the op table.
Family family_of(std::string_view name, std::span<const Row> rows);

// Of an attribute, or of an input that is known before the model runs; an input that is not is unsupported.
Expected<Dims> sizes(Call& call, std::string_view name, std::optional<Dims> otherwise = {});
Expected<Ints> integers(Call& call, std::string_view name, std::optional<Ints> otherwise = {});
Expected<std::int64_t> integer(Call& call, std::string_view name, std::optional<std::int64_t> otherwise = {});
Expected<std::vector<double>> numbers(Call& call, std::string_view name,
                                      std::optional<std::vector<double>> otherwise = {});
Expected<double> number(Call& call, std::string_view name, std::optional<double> otherwise = {});
// An element type by ONNX's number.
Expected<DType> dtype(const Call& call, std::string_view name, std::optional<DType> otherwise = {});

// A 1-d tensor of sizes, which may be symbolic.
Expected<ValueId> tensor_of_sizes(Call& call, const Dims& sizes);

// Another call that means the same, mostly of PyTorch: its reader writes the ops, so that one decomposition serves both
// frontends.
class TorchCall {
 public:
  TorchCall(Call& call, std::string target) : call_(call) { attrs_.target = std::move(target); }
  TorchCall& tensor(std::string name, std::optional<ValueId> value);
  TorchCall& tensors(std::string name, const Values& values);
  TorchCall& integer(std::string name, Dim value);
  TorchCall& integers(std::string name, const Dims& values);
  TorchCall& number(std::string name, double value);
  TorchCall& numbers(std::string name, const std::vector<double>& values);
  TorchCall& flag(std::string name, bool value);
  TorchCall& text(std::string name, std::string value);
  TorchCall& dtype(std::string name, DType value);
  // All of the call's own attributes.
  TorchCall& attributes();
  bool is_known() const;
  TorchCall& results(std::size_t count) {
    results_ = count;
    return *this;
  }
  Expected<Values> read();
  Expected<ValueId> read_one();

 private:
  ArgValue& add(std::string name);
  template <class Item>
  TorchCall& add_list(std::string name, const std::vector<Item>& items);

  Call& call_;
  ForeignAttrs attrs_;
  Values inputs_;
  std::size_t results_ = 1;
};

inline Dims as_dims(const Ints& numbers) { return {numbers.begin(), numbers.end()}; }

// The shape with axes of size 1 behind it, up to a rank.
Expected<ValueId> with_rank(Call& call, ValueId value, std::int64_t leading, std::int64_t trailing);

// A tensor that stands for itself among constants of numbers.
Expected<ValueId> scalar_like(Call& call, double value, ValueId like);

}  // namespace isthmus::onnx_ops
