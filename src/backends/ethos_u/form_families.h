// The rows of the table of forms by family, and what several of them are made of.
#pragma once

#include <span>

#include "backends/ethos_u/forms.h"

namespace isthmus::ethos_u {

std::span<const FormRow> product_forms();
std::span<const FormRow> pool_forms();
std::span<const FormRow> elementwise_forms();
std::span<const FormRow> reduction_forms();
std::span<const FormRow> movement_forms();
std::span<const FormRow> choice_forms();

// Appends operators, one behind the other: each takes the result of the one before.
class Chain {
 public:
  explicit Chain(TosaTensor start) : current_(std::move(start)) {}

  Chain& rescale(tosa::Type type) { return then(tosa::Op::kRescale, {type, current_.shape}); }
  // Nothing where the shape stays.
  Chain& reshape(Ints shape) {
    if (shape == current_.shape) return *this;
    return then(tosa::Op::kReshape, {current_.type, std::move(shape)});
  }
  Chain& transpose(Ints perms, Device device);
  Chain& then(tosa::Op op, TosaTensor output) { return then({op, {current_}, std::move(output)}); }
  Chain& then(TosaForm form) {
    current_ = form.output;
    forms_.push_back(std::move(form));
    return *this;
  }
  // An operator of two tensors; the chain of the other one comes before it.
  Chain& with(tosa::Op op, Chain other, TosaTensor output);
  // Along one axis, which stays with size one.
  Chain& reduce(tosa::Op op, std::int64_t axis);

  const TosaTensor& current() const { return current_; }
  Forms result() && { return std::move(forms_); }

 private:
  std::vector<TosaForm> forms_;
  TosaTensor current_;
};

// Sums of products are as wide as this.
tosa::Type sum_type(tosa::Type of);
// With ones in front.
Ints with_rank(const Ints& shape, std::size_t rank);

inline auto refused(ReasonCode code, std::string got) { return tl::unexpected<Reason>(Reason{code, std::move(got)}); }

// Windows over an image [N, H, W, C], so many that they make this height and width: TOSA wants them to fit exactly.
struct Fitted {
  Ints pad;
  Ints image;  // of what is read: less than the image where no window reaches its end
};
Fitted fitted(const Ints& image, const Ints& output, const Ints& kernel, const Ints& stride, const Ints& padding,
              const Ints& dilation = {1, 1});
// [N, C, H, W] as [N, H, W, C].
Ints channels_last(const Ints& shape);

}  // namespace isthmus::ethos_u
