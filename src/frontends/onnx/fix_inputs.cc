// Rewrites the declared inputs of a model.
#include "frontends/onnx/fix_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/onnx_dtype.h"
#include "base/untrusted_text.h"
#include "frontends/onnx/loader.h"

namespace isthmus {
namespace {

class InputFixer {
 public:
  InputFixer(onnx::Model& model, Diagnostics& diagnostics) : graph_(model.graph), diagnostics_(diagnostics) {
    std::set<std::string> initializers;
    for (const onnx::Tensor& tensor : graph_.initializers) initializers.insert(tensor.name);
    for (onnx::ValueInfo& info : graph_.inputs) {
      if (!initializers.contains(info.name)) inputs_.push_back(&info);
    }
  }

  Expected<void> make_constant(const std::string& name, const std::vector<double>& numbers) {
    const auto found =
        std::ranges::find_if(inputs_, [&](const onnx::ValueInfo* info) { return is_named(*info, name); });
    if (found == inputs_.end()) return no_input("--constant", name);
    onnx::Tensor constant;
    constant.name = (*found)->name;
    constant.data = TRY(within(tensor_of(**found, numbers), [&] { return "--constant " + name; }));
    graph_.initializers.push_back(std::move(constant));
    inputs_.erase(found);
    return {};
  }

  Expected<void> fix_shape(const std::string& name, const std::vector<std::int64_t>& sizes) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!is_named(*inputs_[i], name) && fmt::format("input_{}", i) != name) continue;
      auto& shape = inputs_[i]->type.shape;
      if (!shape) {
        shape.emplace(sizes.begin(), sizes.end());
        return {};
      }
      if (shape->size() != sizes.size()) {
        return bad_input(fmt::format("--shape {}: the input has {} axes, but {} sizes are given", shown(name),
                                     shape->size(), sizes.size()));
      }
      for (std::size_t axis = 0; axis < sizes.size(); ++axis) TRY(fix(i, axis, sizes[axis]));
      return {};
    }
    return no_input("--shape", name);
  }

  Expected<void> fix_batch(std::int64_t batch) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto& shape = inputs_[i]->type.shape;
      if (shape && !shape->empty()) TRY(fix(i, 0, batch));
    }
    return {};
  }

  void fix_sizes(const SizesOfInputs& sizes) {
    for (std::size_t i = 0; i < std::min(sizes.size(), inputs_.size()); ++i) {
      const auto& shape = inputs_[i]->type.shape;
      if (!sizes[i] || !shape || shape->size() != sizes[i]->size()) continue;
      for (std::size_t axis = 0; axis < shape->size(); ++axis) (void)fix(i, axis, (*sizes[i])[axis]);
    }
  }

  void say_what_is_fixed() const {
    for (const auto& [name, value] : numbers_) {
      diagnostics_.note("fixed-size", "",
                        fmt::format("dimension {} is fixed to {}, as requested", onnx::symbol_name(name), value));
    }
  }

  void replace_names() const {
    for (onnx::ValueInfo* info : inputs_) {
      if (!info->type.shape) continue;
      for (onnx::Size& size : *info->type.shape) {
        const auto* name = std::get_if<std::string>(&size);
        const auto known = name == nullptr ? numbers_.end() : numbers_.find(*name);
        if (known != numbers_.end()) size = known->second;
      }
    }
  }

 private:
  static bool is_named(const onnx::ValueInfo& info, const std::string& name) {
    return info.name == name || onnx::value_name(info.name) == name;
  }
  static tl::unexpected<Error> no_input(std::string_view option, const std::string& name) {
    return bad_input(fmt::format("{} {}: the model has no input of this name", option, shown(name)));
  }

  Expected<void> fix(std::size_t input, std::size_t axis, std::int64_t value) {
    onnx::Size& size = (*inputs_[input]->type.shape)[axis];
    const auto* name = std::get_if<std::string>(&size);
    if (name != nullptr && !name->empty()) {
      const auto [known, is_new] = numbers_.emplace(*name, value);
      if (is_new || known->second == value) return {};
      return bad_input(fmt::format("{} would be both {} and {}", shown(*name), known->second, value));
    }
    const auto* number = std::get_if<std::int64_t>(&size);
    if (number == nullptr || *number < 0) size = value;
    return {};
  }

  static Expected<TensorView> tensor_of(const onnx::ValueInfo& info, const std::vector<double>& numbers) {
    const DType dtype = TRY(dtype_from_onnx(info.type.element));
    if (is_complex(dtype) || size_of(dtype) == 2) return bad_input(fmt::format("an input of {}", name_of(dtype)));
    std::vector<std::int64_t> sizes;
    std::size_t count = 1;
    for (const onnx::Size& size : info.type.shape.value_or(std::vector<onnx::Size>())) {
      const auto* number = std::get_if<std::int64_t>(&size);
      // A size that the file leaves open is that of the numbers, where it is the only one.
      const bool is_open = number == nullptr || *number < 0;
      if (is_open && count == 1) {
        sizes.push_back(static_cast<std::int64_t>(numbers.size()));
      } else {
        sizes.push_back(is_open ? 1 : *number);
      }
      count *= static_cast<std::size_t>(std::clamp<std::int64_t>(sizes.back(), 0, 1 << 20));
      if (count > (1 << 20)) return bad_input("an input of too many elements");
    }
    if (numbers.size() != count) {
      return bad_input(fmt::format("{} numbers, the input has {}", numbers.size(), count));
    }
    std::vector<std::byte> bytes(count * size_of(dtype));
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_floating(dtype) && numbers[i] != std::trunc(numbers[i])) {
        return bad_input(fmt::format("{} for an input of {}", numbers[i], name_of(dtype)));
      }
      write(dtype, numbers[i], bytes.data() + i * size_of(dtype));
    }
    std::vector<std::int64_t> strides = row_major_strides(sizes);
    return make_tensor_view(dtype, std::move(sizes), std::move(strides), 0, Blob::owning(std::move(bytes)));
  }
  static void write(DType dtype, double number, std::byte* to) {
    if (dtype == DType::kF32) {
      const auto narrow = static_cast<float>(number);
      std::memcpy(to, &narrow, sizeof narrow);
    } else if (dtype == DType::kF64) {
      std::memcpy(to, &number, sizeof number);
    } else {
      const auto integer = static_cast<std::int64_t>(dtype == DType::kBool ? number != 0 : number);
      std::memcpy(to, &integer, size_of(dtype));  // little-endian, as all that is supported
    }
  }

  onnx::Graph& graph_;
  Diagnostics& diagnostics_;
  std::vector<onnx::ValueInfo*> inputs_;
  std::map<std::string, std::int64_t> numbers_;
};

}  // namespace

Expected<void> fix_inputs(onnx::Model& model, const InputRequest& request, Diagnostics& diagnostics) {
  InputFixer fixer(model, diagnostics);
  for (const auto& [name, numbers] : request.constants) TRY(fixer.make_constant(name, numbers));
  for (const auto& [name, sizes] : request.shapes.inputs) TRY(fixer.fix_shape(name, sizes));
  if (request.shapes.batch) TRY(fixer.fix_batch(*request.shapes.batch));
  fixer.say_what_is_fixed();
  fixer.fix_sizes(request.sizes);
  fixer.replace_names();
  return {};
}

}  // namespace isthmus
