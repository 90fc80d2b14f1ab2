// Their texts.
#include "support/island_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <random>

#include "support/quantized_graphs.h"

namespace isthmus::test {
namespace {

class Text {
 public:
  void line(const std::string& text) { nodes_ += "  " + text + "\n"; }
  void input(const std::string& name, const Ints& sizes) {
    inputs_ += fmt::format("  input %{} : f32[{}]\n", name, fmt::join(sizes, ","));
  }
  // Products of this many numbers keep their size.
  void constant(const std::string& name, const Ints& sizes, std::int64_t summed) {
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) count *= size;
    std::vector<std::string> numbers;
    const double width = std::sqrt(3.0 / static_cast<double>(summed));
    for (std::int64_t i = 0; i < count; ++i) {
      numbers.push_back(fmt::format("{:.4f}", std::uniform_real_distribution<double>(-width, width)(random_)));
    }
    constants_ += fmt::format("  const %{} : f32[{}] = [{}]\n", name, fmt::join(sizes, ","), fmt::join(numbers, ","));
  }
  Graph graph() const { return graph_of("graph\n" + inputs_ + constants_ + nodes_); }

 private:
  std::string inputs_, constants_, nodes_;
  std::mt19937 random_{11};
};

void add_stream(Text& text, const std::string& name, std::int64_t channels) {
  text.input(name, {1, channels, 1, 64});
  std::string from = name;
  for (const std::int64_t out : {16, 32}) {
    const std::string layer = fmt::format("{}_{}", name, out);
    text.constant(layer + "_w", {out, channels, 1, 5}, 5 * channels);
    text.constant(layer + "_b", {out}, 1);
    text.line(
        fmt::format("%{0} = conv2d(%{1}, %{0}_w, %{0}_b) stride=[1,1] padding=[0,0,2,2] dilation=[1,1] "
                    ": f32[1,{2},1,64]",
                    layer, from, out));
    text.line(fmt::format("%{0}_relu = clamp(%{0}) min=0 : f32[1,{1},1,64]", layer, out));
    from = layer + "_relu";
    channels = out;
  }
  text.line(fmt::format("%{}_mean = mean(%{}) axes=[2,3] : f32[1,32]", name, from));
}

}  // namespace

Graph joined_streams(std::string_view join) {
  Text text;
  add_stream(text, "emg", 8);
  add_stream(text, "imu", 6);
  text.constant("hidden_w", {64, 64}, 64);
  text.constant("hidden_b", {64}, 1);
  text.constant("last_w", {4, 64}, 64);
  text.constant("last_b", {4}, 1);
  text.line(
      fmt::format("%joined = foreign(\"{}\", tensors=[%emg_mean, %imu_mean], dim=1) : f32[1,64]  "
                  "# streams.py:251 concat in fusion",
                  join));
  text.line("%hidden = linear(%joined, %hidden_w, %hidden_b) : f32[1,64]");
  text.line("%relu = clamp(%hidden) min=0 : f32[1,64]");
  text.line("%last = linear(%relu, %last_w, %last_b) : f32[1,4]");
  text.line("return %last");
  return text.graph();
}

Graph convnext_blocks(std::size_t count, std::string_view move) {
  Text text;
  text.input("image", {1, 3, 32, 32});
  text.constant("stem_w", {32, 3, 4, 4}, 48);
  text.line("%x0 = conv2d(%image, %stem_w) stride=[4,4] padding=[0,0,0,0] dilation=[1,1] : f32[1,32,8,8]");
  for (std::size_t i = 0; i < count; ++i) {
    const std::string b = fmt::format("b{}", i);
    text.constant(b + "_dw", {32, 1, 7, 7}, 49);
    text.constant(b + "_bias", {32}, 1);
    text.constant(b + "_gain", {32}, 1);
    text.constant(b + "_shift", {32}, 1);
    text.constant(b + "_up", {128, 32}, 32);
    text.constant(b + "_down", {32, 128}, 128);
    text.line(
        fmt::format("%{0}_conv = conv2d(%x{1}, %{0}_dw, %{0}_bias) stride=[1,1] padding=[3,3,3,3] "
                    "dilation=[1,1] groups=32 : f32[1,32,8,8]",
                    b, i));
    text.line(
        fmt::format("%{0}_last = foreign(\"{1}\", self=%{0}_conv, source=1, destination=-1) : f32[1,8,8,32]  "
                    "# convnext.py:162 moveaxis in blocks.{2}",
                    b, move, i));
    text.line(fmt::format("%{0}_norm = layer_norm(%{0}_last, %{0}_gain, %{0}_shift) eps=1e-06 : f32[1,8,8,32]", b));
    text.line(fmt::format("%{0}_wide = linear(%{0}_norm, %{0}_up) : f32[1,8,8,128]", b));
    text.line(fmt::format("%{0}_gelu = gelu(%{0}_wide) : f32[1,8,8,128]", b));
    text.line(fmt::format("%{0}_narrow = linear(%{0}_gelu, %{0}_down) : f32[1,8,8,32]", b));
    text.line(
        fmt::format("%{0}_first = foreign(\"{1}\", self=%{0}_narrow, source=-1, destination=1) "
                    ": f32[1,32,8,8]  # convnext.py:165 moveaxis in blocks.{2}",
                    b, move, i));
    text.line(fmt::format("%x{1} = add(%x{2}, %{0}_first) : f32[1,32,8,8]", b, i + 1, i));
  }
  text.constant("head", {10, 32}, 32);
  text.line(fmt::format("%mean = mean(%x{}) axes=[2,3] : f32[1,32]", count));
  text.line("%classes = linear(%mean, %head) : f32[1,10]");
  text.line("return %classes");
  return text.graph();
}

}  // namespace isthmus::test
