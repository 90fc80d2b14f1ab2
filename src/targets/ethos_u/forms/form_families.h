// The rows of the table of forms by family, and what several of them need.
#pragma once

#include <functional>
#include <span>

#include "targets/ethos_u/forms/forms.h"

namespace isthmus::ethos_u {

std::span<const FormRow> product_forms();
std::span<const FormRow> pool_forms();
std::span<const FormRow> elementwise_forms();
std::span<const FormRow> reduction_forms();
std::span<const FormRow> softmax_forms();
std::span<const FormRow> norm_forms();
std::span<const FormRow> movement_forms();
std::span<const FormRow> choice_forms();

// A layer norm of rows [rows, length] that are short enough; norm_short.cc.
Expected<Operand> norm_of_short_rows(NodeLowering& lowering, const Operand& rows, const ShortNormConstants& constants);

// Of rows [rows, length], in so many parts one after the other: of the numbers between input and result, only those of
// one part are in memory then.
Expected<Operand> by_parts(NodeLowering& lowering, const Operand& rows, std::int64_t parts,
                           const std::function<Expected<Operand>(const Operand&)>& compute);

// Every input and the result alike.
OrderDemand same_order(const Graph& graph, const Node& node);
// An image: channels last, the first input alone.
OrderDemand image_order(const Graph& graph, const Node& node);
// All inputs as the model has them.
OrderDemand plain_order(const Graph& graph, const Node& node);
// The first input's last axis innermost.
OrderDemand last_innermost(const Graph& graph, const Node& node);

// Sums of products of quantized values are as wide as this.
inline tosa::Type sum_type(tosa::Type of) { return of == tosa::Type::kI16 ? tosa::Type::kI48 : tosa::Type::kI32; }

// A factor as a RESCALE takes it that reads this type.
Expected<Multiplier> factor_of(double factor, tosa::Type from);
// From sums to the result's quantized values.
Expected<Operand> to_quantized(NodeLowering& lowering, const Operand& sums, double factor);

// Windows over an image [N, H, W, C] that give this height and width: TOSA wants them to fit exactly. Fails where they
// see padding alone.
struct Fitted {
  Ints pad;
  Ints image;  // of what is read: less than the image where no window reaches its end
};
Expected<Fitted> fitted(const Ints& image, const Ints& output, const Ints& kernel, const Ints& stride,
                        const Ints& padding, const Ints& dilation = {1, 1});

// Whether a sum of this many values of a width surely fits 32 bits.
std::optional<Reason> refuse_count(DType quantized, std::int64_t count);

inline std::vector<std::int32_t> narrow(const Ints& numbers) { return {numbers.begin(), numbers.end()}; }

}  // namespace isthmus::ethos_u
