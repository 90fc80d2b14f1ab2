// Shape inference, node by node.
#include "engines/xnnpack/shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/bytes.h"

namespace isthmus::xnnpack {
namespace {

using xnn::NodeKind;

constexpr std::uint32_t kTransposeFlag = 1;  // of fully connected and batch matmul
constexpr std::uint32_t kKeepDimsFlag = 0x40;

// A window's result size along one axis; 0 where the window does not fit.
std::uint64_t window_result(std::uint64_t size, std::uint64_t padding, std::uint64_t kernel, std::uint64_t stride,
                            std::uint64_t dilation) {
  const std::uint64_t padded = size + padding;
  const std::uint64_t reach = (kernel - 1) * dilation + 1;
  return padded < reach || stride == 0 ? 0 : (padded - reach) / stride + 1;
}

// Where windows have dilation, the library reads another element of the axis for each one that lies outside, and does
// not ask whether that one lies inside. It is the first of each window, moved to where dilation meets the padding's
// end.
bool reads_beyond(std::uint64_t size, std::uint64_t windows, std::uint64_t padding, std::uint64_t stride,
                  std::uint64_t dilation) {
  const std::uint64_t over = padding % dilation;
  const auto element = [&](std::uint64_t window) {
    const std::uint64_t place = window * stride;
    return place < over ? place + dilation - over : place - over;
  };
  const std::uint64_t last_moved = over == 0 ? 0 : std::min((over - 1) / stride, windows - 1);
  return std::max(element(last_moved), element(windows - 1)) >= size;
}

class Inference {
 public:
  Inference(const xnn::Graph& graph, std::vector<Dims>& shapes, std::uint64_t max_bytes)
      : graph_(graph), shapes_(shapes), max_bytes_(max_bytes), bytes_left_(max_bytes) {}

  Expected<std::uint64_t> run() {
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      const xnn::Value& value = graph_.values[i];
      if (value.role == xnn::Role::kInput || value.data != 0) {
        TRY(within(take(shapes_[i], value.datatype), [&] { return fmt::format("value {}", i); }));
      }
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const xnn::Node& node = graph_.nodes[i];
      const auto place = [&] { return fmt::format("node {} ({})", i, xnn::name_of(node.kind)); };
      const Dims result = TRY(within(infer(node), place));
      for (const std::uint32_t output : node.outputs) {
        shapes_[output] = result;
        TRY(within(take(result, graph_.values[output].datatype), place));
      }
    }
    return max_bytes_ - bytes_left_;
  }

 private:
  Expected<void> take_bytes(std::uint64_t bytes) {
    if (bytes > bytes_left_) return bad_input("the values need too much memory");
    bytes_left_ -= bytes;
    return {};
  }
  Expected<void> take(const Dims& dims, xnn::DataType datatype) {
    std::uint64_t count = 1;
    for (const std::size_t dim : dims) {
      if (dim == 0) return bad_input(fmt::format("a size of 0 in [{}]", fmt::join(dims, ",")));
      const auto product = multiply_sizes(count, dim);
      if (!product || *product > std::uint64_t{1} << 40) return bad_input("the values need too much memory");
      count = *product;
    }
    return take_bytes(count * std::max<std::uint64_t>(xnn::bits_of(datatype), 8) / 8);
  }
  // The library lists a pointer for every element of every window.
  Expected<void> take_windows(std::uint64_t height, std::uint64_t width, std::uint64_t kernel_height,
                              std::uint64_t kernel_width) {
    std::uint64_t bytes = 8;
    for (const std::uint64_t factor : {height, width, kernel_height, kernel_width}) {
      const auto product = multiply_sizes(bytes, std::max<std::uint64_t>(factor, 1));
      if (!product) return bad_input("the windows need too much memory");
      bytes = *product;
    }
    return take_bytes(bytes);
  }

  const Dims& in(const xnn::Node& node, std::size_t i = 0) const { return shapes_[node.inputs[i]]; }
  static tl::unexpected<Error> refuse(const Dims& a, const Dims& b) {
    return bad_input(fmt::format("shapes {} and {} do not match", text_of(a), text_of(b)));
  }

  Expected<Dims> infer(const xnn::Node& node) {
    switch (xnn::form_of(node.kind)) {
      case xnn::Form::kUnary:
        if (node.kind == NodeKind::kGlobalAvgPool2d) return global_pool(node);
        if (in(node).empty() && node.kind == NodeKind::kSoftmax) return bad_input("its input has no axis");
        return in(node);
      case xnn::Form::kBinary:
        return node.kind == NodeKind::kBatchMatmul ? matmul(node) : broadcast(in(node, 0), in(node, 1));
      case xnn::Form::kConcat:
        return concat(node);
      case xnn::Form::kFullyConnected:
        return fully_connected(node);
      case xnn::Form::kConv:
        return conv(node);
      case xnn::Form::kPool:
        return pool(node, false);
      case xnn::Form::kArgMaxPool:
        return pool(node, true);
      case xnn::Form::kTranspose:
        return transpose(node);
      case xnn::Form::kReshape:
        return reshape(node);
      case xnn::Form::kSlice:
        return slice(node);
      case xnn::Form::kPad:
        return pad(node);
      case xnn::Form::kResizeBilinear: {
        const auto& fields = std::get<xnn::ResizeFields>(node.fields);
        if (in(node).size() != 4) return bad_input(fmt::format("its input is {}, not NHWC", text_of(in(node))));
        TRY(take_windows(fields.height, fields.width, 4, 1));
        return Dims{in(node)[0], fields.height, fields.width, in(node)[3]};
      }
      case xnn::Form::kLeakyRelu:
      case xnn::Form::kElu:
        return in(node);
      case xnn::Form::kDead:
        break;
    }
    return fail(ErrorKind::kUnsupported, "XNNPACK has no such node");
  }

  Expected<Dims> broadcast(const Dims& a, const Dims& b) const {
    Dims result(std::max(a.size(), b.size()), 1);
    for (std::size_t i = 0; i < result.size(); ++i) {
      const std::size_t of_a = i < a.size() ? a[a.size() - 1 - i] : 1;
      const std::size_t of_b = i < b.size() ? b[b.size() - 1 - i] : 1;
      if (of_a != of_b && of_a != 1 && of_b != 1) return refuse(a, b);
      result[result.size() - 1 - i] = std::max(of_a, of_b);
    }
    return result;
  }
  Expected<Dims> matmul(const xnn::Node& node) const {
    const Dims& a = in(node, 0);
    const Dims& b = in(node, 1);
    if (a.size() < 2 || b.size() < 2) return refuse(a, b);
    const bool is_transposed = (node.flags & kTransposeFlag) != 0;
    const std::size_t depth = is_transposed ? b[b.size() - 1] : b[b.size() - 2];
    const std::size_t columns = is_transposed ? b[b.size() - 2] : b[b.size() - 1];
    if (a.back() != depth) return refuse(a, b);
    Dims result = TRY(broadcast(Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2)));
    result.push_back(a[a.size() - 2]);
    result.push_back(columns);
    return result;
  }
  Expected<Dims> concat(const xnn::Node& node) const {
    Dims result = in(node, 0);
    const std::size_t axis = std::get<xnn::ConcatFields>(node.fields).axis;
    if (axis >= result.size()) return bad_input(fmt::format("axis {} of {}", axis, text_of(result)));
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      Dims other = in(node, i);
      if (other.size() != result.size()) return refuse(result, other);
      const std::size_t size = other[axis];
      other[axis] = result[axis];
      if (other != result) return refuse(result, in(node, i));
      result[axis] += size;
    }
    return result;
  }
  Expected<Dims> fully_connected(const xnn::Node& node) const {
    const Dims& filter = in(node, 1);
    Dims result = in(node);
    if (result.empty() || filter.size() != 2) return refuse(result, filter);
    const bool is_transposed = (node.flags & kTransposeFlag) != 0;
    if (result.back() != filter[is_transposed ? 0 : 1]) return refuse(result, filter);
    result.back() = filter[is_transposed ? 1 : 0];
    return result;
  }
  Expected<Dims> conv(const xnn::Node& node) {
    const auto& f = std::get<xnn::ConvFields>(node.fields);
    const Dims& input = in(node);
    if (input.size() != 4) return bad_input(fmt::format("its input is {}, not NHWC", text_of(input)));
    const std::uint64_t channels = std::uint64_t{f.groups} * f.group_input_channels;
    if (input[3] != channels) {
      return bad_input(fmt::format("its input has {} channels, its groups {}", input[3], channels));
    }
    const std::uint64_t vertical = std::uint64_t{f.padding_top} + f.padding_bottom;
    const std::uint64_t horizontal = std::uint64_t{f.padding_left} + f.padding_right;
    std::uint64_t height = window_result(input[1], vertical, f.kernel_height, f.stride_height, f.dilation_height);
    std::uint64_t width = window_result(input[2], horizontal, f.kernel_width, f.stride_width, f.dilation_width);
    if (node.kind == NodeKind::kConvTranspose2d) {
      const auto spread = [](std::uint64_t size, std::uint64_t stride, std::uint64_t adjustment, std::uint64_t kernel,
                             std::uint64_t dilation, std::uint64_t padding) {
        const std::uint64_t full = (size - 1) * stride + adjustment + (kernel - 1) * dilation + 1;
        return full > padding ? full - padding : 0;
      };
      height = spread(input[1], f.stride_height, f.adjustment_height, f.kernel_height, f.dilation_height, vertical);
      width = spread(input[2], f.stride_width, f.adjustment_width, f.kernel_width, f.dilation_width, horizontal);
    }
    if (height == 0 || width == 0) return bad_input(fmt::format("its kernel does not fit into {}", text_of(input)));
    TRY(take_windows(height, width, f.kernel_height, f.kernel_width));
    return Dims{input[0], height, width, std::size_t{f.groups} * f.group_output_channels};
  }
  Expected<Dims> pool(const xnn::Node& node, bool is_argmax) {
    const auto& f = std::get<xnn::PoolFields>(node.fields);
    const Dims& input = in(node);
    if (input.size() != 4) return bad_input(fmt::format("its input is {}, not NHWC", text_of(input)));
    const std::uint64_t vertical = std::uint64_t{f.padding_top} + f.padding_bottom;
    const std::uint64_t horizontal = std::uint64_t{f.padding_left} + f.padding_right;
    const std::uint64_t height = window_result(input[1], vertical, f.pooling_height,
                                               is_argmax ? f.pooling_height : f.stride_height, f.dilation_height);
    const std::uint64_t width = window_result(input[2], horizontal, f.pooling_width,
                                              is_argmax ? f.pooling_width : f.stride_width, f.dilation_width);
    if (height == 0 || width == 0) return bad_input(fmt::format("its window does not fit into {}", text_of(input)));
    const bool is_dilated = f.dilation_height > 1 || f.dilation_width > 1;
    if (is_dilated && (reads_beyond(input[1], height, f.padding_top, f.stride_height, f.dilation_height) ||
                       reads_beyond(input[2], width, f.padding_left, f.stride_width, f.dilation_width))) {
      return fail(ErrorKind::kUnsupported, "its dilation and padding make XNNPACK read past the image");
    }
    TRY(take_windows(height, width, f.pooling_height, f.pooling_width));
    return Dims{input[0], height, width, input[3]};
  }
  Expected<Dims> global_pool(const xnn::Node& node) const {
    const Dims& input = in(node);
    if (input.size() != 4) return bad_input(fmt::format("its input is {}, not NHWC", text_of(input)));
    if ((node.flags & kKeepDimsFlag) != 0) return Dims{input[0], 1, 1, input[3]};
    return Dims{input[0], input[3]};
  }
  Expected<Dims> transpose(const xnn::Node& node) const {
    const auto& order = std::get<xnn::TransposeFields>(node.fields).order;
    const Dims& input = in(node);
    if (order.size() != input.size() || order.empty()) {
      return bad_input(fmt::format("a permutation of {} axes for {}", order.size(), text_of(input)));
    }
    std::vector<bool> seen(order.size(), false);
    Dims result;
    for (const std::uint32_t axis : order) {
      if (axis >= order.size() || seen[axis]) return bad_input("its axes are not a permutation");
      seen[axis] = true;
      result.push_back(input[axis]);
    }
    return result;
  }
  Expected<Dims> reshape(const xnn::Node& node) const {
    const auto& shape = std::get<xnn::ReshapeFields>(node.fields).shape;
    std::uint64_t count = 1;
    for (const std::size_t dim : in(node)) count *= dim;
    Dims result(shape.begin(), shape.end());
    const auto refuse_shape = [&] {
      return bad_input(fmt::format("{} cannot become {}", text_of(in(node)), text_of(result)));
    };
    std::uint64_t known = 1;
    for (const std::size_t dim : result) {
      const auto product = multiply_sizes(known, std::max<std::size_t>(dim, 1));
      if (!product || *product > count) return refuse_shape();
      known = *product;
    }
    const auto unknown = std::ranges::count(result, 0u);
    if (unknown > 1 || count % known != 0 || (unknown == 0 && known != count)) return refuse_shape();
    std::ranges::replace(result, 0u, static_cast<std::size_t>(count / known));
    return result;
  }
  Expected<Dims> slice(const xnn::Node& node) const {
    const auto& f = std::get<xnn::SliceFields>(node.fields);
    const Dims& input = in(node);
    if (f.offsets.size() != input.size()) {
      return bad_input(fmt::format("{} offsets for {}", f.offsets.size(), text_of(input)));
    }
    Dims result;
    for (std::size_t i = 0; i < input.size(); ++i) {
      // The library takes a size of 0 for the whole axis whatever the offset is, and reads past its end.
      if (std::uint64_t{f.offsets[i]} + f.sizes[i] > input[i] || (f.sizes[i] == 0 && f.offsets[i] != 0)) {
        return bad_input(
            fmt::format("{} elements from {} on of axis {} of {}", f.sizes[i], f.offsets[i], i, text_of(input)));
      }
      result.push_back(f.sizes[i] == 0 ? input[i] : f.sizes[i]);
    }
    return result;
  }
  Expected<Dims> pad(const xnn::Node& node) const {
    const auto& f = std::get<xnn::PadFields>(node.fields);
    Dims result = in(node);
    if (f.before.size() != result.size() || result.empty()) {
      return bad_input(fmt::format("{} paddings for {}", f.before.size(), text_of(result)));
    }
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += std::size_t{f.before[i]} + f.after[i];
    return result;
  }

  const xnn::Graph& graph_;
  std::vector<Dims>& shapes_;
  std::uint64_t max_bytes_;
  std::uint64_t bytes_left_;
};

}  // namespace

std::string text_of(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ",")); }

std::vector<Dims> declared_shapes(const xnn::Graph& graph) {
  std::vector<Dims> shapes;
  for (const xnn::Value& value : graph.values) shapes.emplace_back(value.dims.begin(), value.dims.end());
  return shapes;
}

Expected<std::uint64_t> infer_shapes(const xnn::Graph& graph, std::vector<Dims>& shapes, std::uint64_t max_bytes) {
  return Inference(graph, shapes, max_bytes).run();
}

}  // namespace isthmus::xnnpack
