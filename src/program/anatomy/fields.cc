// A row for each struct of fields.
#include "program/anatomy/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace isthmus::anatomy {
namespace {

// Words with a blank between them.
class Words {
 public:
  template <class Number>
  void add(std::string_view name, const Number& number) {
    text_ += fmt::format("{}{}={}", text_.empty() ? "" : " ", name, number);
  }
  template <class Number>
  void add_list(std::string_view name, const std::vector<Number>& numbers) {
    add(name, fmt::format("[{}]", fmt::join(numbers, ",")));
  }
  void add_flag(std::string_view name, bool is_set) {
    if (is_set) text_ += (text_.empty() ? "" : " ") + std::string(name);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add(Words&, const std::monostate&) {}
void add(Words& words, const xnn::ConcatFields& fields) { words.add("axis", fields.axis); }
void add(Words& words, const xnn::ConvFields& f) {
  words.add_list("kernel", std::vector{f.kernel_height, f.kernel_width});
  words.add_list("stride", std::vector{f.stride_height, f.stride_width});
  words.add_list("padding", std::vector{f.padding_top, f.padding_right, f.padding_bottom, f.padding_left});
  words.add_list("dilation", std::vector{f.dilation_height, f.dilation_width});
  words.add("groups", f.groups);
  words.add_list("channels", std::vector{f.group_input_channels, f.group_output_channels});
}
void add(Words& words, const xnn::PoolFields& f) {
  words.add_list("window", std::vector{f.pooling_height, f.pooling_width});
  words.add_list("stride", std::vector{f.stride_height, f.stride_width});
  words.add_list("padding", std::vector{f.padding_top, f.padding_right, f.padding_bottom, f.padding_left});
  words.add_list("dilation", std::vector{f.dilation_height, f.dilation_width});
}
void add(Words& words, const xnn::TransposeFields& fields) { words.add_list("order", fields.order); }
void add(Words& words, const xnn::ReshapeFields& fields) { words.add_list("shape", fields.shape); }
void add(Words& words, const xnn::SliceFields& fields) {
  words.add_list("offsets", fields.offsets);
  words.add_list("sizes", fields.sizes);
}
void add(Words& words, const xnn::PadFields& fields) {
  words.add_list("before", fields.before);
  words.add_list("after", fields.after);
  words.add("value", fields.value);
}
void add(Words& words, const xnn::ResizeFields& f) { words.add_list("size", std::vector{f.height, f.width}); }
void add(Words& words, const xnn::SlopeFields& fields) { words.add("slope", fields.slope); }

std::string bytes_text(const std::vector<std::byte>& bytes) {
  std::string text = "0x";
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

void add(Words&, const tosa::Nothing&) {}
void add(Words&, const tosa::NotRead&) {}
void add(Words& words, const tosa::Axis& fields) { words.add("axis", fields.axis); }
void add(Words& words, const tosa::AxisNan& fields) { words.add("axis", fields.axis); }
void add(Words&, const tosa::NanMode&) {}
void add(Words& words, const tosa::AvgPool& fields) {
  words.add_list("window", fields.kernel);
  words.add_list("stride", fields.stride);
  words.add_list("padding", fields.pad);
}
void add(Words& words, const tosa::MaxPool& fields) {
  words.add_list("window", fields.kernel);
  words.add_list("stride", fields.stride);
  words.add_list("padding", fields.pad);
}
void add(Words& words, const tosa::Conv& fields) {
  words.add_list("stride", fields.stride);
  words.add_list("padding", fields.pad);
  words.add_list("dilation", fields.dilation);
}
void add(Words& words, const tosa::TransposeConv& fields) {
  words.add_list("stride", fields.stride);
  words.add_list("padding", fields.out_pad);
}
void add(Words& words, const tosa::Clamp& fields) {
  words.add("min", bytes_text(fields.min));
  words.add("max", bytes_text(fields.max));
}
void add(Words& words, const tosa::RightShift& fields) { words.add_flag("rounded", fields.round); }
void add(Words& words, const tosa::Transpose& fields) { words.add_list("order", fields.perms); }
void add(Words& words, const tosa::Resize& fields) {
  words.add_flag("linear", fields.mode == tosa::ResizeMode::kBilinear);
}
void add(Words& words, const tosa::Rescale& fields) {
  words.add_flag("scale16", !fields.scale32);
  words.add_flag("double_rounding", fields.rounding == tosa::Rounding::kDouble);
  words.add_flag("per_channel", fields.per_channel);
}

}  // namespace

std::string fields_text(const xnn::Node& node) {
  Words words;
  std::visit([&](const auto& fields) { add(words, fields); }, node.fields);
  if (node.bounds) {
    words.add("min", node.bounds->min);
    words.add("max", node.bounds->max);
  }
  if (node.flags != 0) words.add("flags", node.flags);
  return words.take();
}

std::string fields_text(const tosa::Operator& op) {
  Words words;
  std::visit([&](const auto& fields) { add(words, fields); }, op.fields);
  return words.take();
}

}  // namespace isthmus::anatomy
