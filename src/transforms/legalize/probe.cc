// Runs single reference kernels on counted positions and on unit vectors.
#include "transforms/legalize/probe.h"

#include "interpret/interpreter.h"
#include "ops/emitter.h"

namespace isthmus::rewrites {

std::optional<Tensor> result_of(Op op, Attrs attrs, std::vector<Tensor> inputs) {
  Graph graph;
  Emitter emitter(graph);
  std::vector<ValueId> ids;
  for (const Tensor& input : inputs) ids.push_back(emitter.constant(input.view()));
  if (!emitter.emit(op, std::move(attrs), std::move(ids))) return std::nullopt;
  auto result = evaluate_node(graph, graph.nodes().back(), inputs, {});
  if (!result) return std::nullopt;
  return *std::move(result);
}

Tensor counted(DType dtype, std::vector<std::int64_t> sizes) {
  Tensor result(dtype, std::move(sizes));
  dispatch(dtype, [&]<class Number>(Number) {
    Number next{};
    for (Number& number : result.mutable_data<Number>()) number = next++;
  });
  return result;
}

Ints positions_in(const Tensor& moved) {
  Ints result;
  dispatch(moved.dtype(), [&]<class Number>(Number) {
    for (const Number number : moved.data<Number>()) result.push_back(static_cast<std::int64_t>(number));
  });
  return result;
}

std::optional<std::vector<double>> pixel_matrix(Op op, Attrs attrs, ImageSize size, std::vector<Tensor> others) {
  const std::int64_t pixels = size.height * size.width;
  const auto before = static_cast<std::size_t>(pixels);
  Tensor units(DType::kF32, {1, pixels, size.height, size.width});  // one image with one pixel lit in each channel
  for (std::size_t i = 0; i < before; ++i) units.mutable_data<float>()[i * before + i] = 1;
  others.insert(others.begin(), std::move(units));
  const auto lit = result_of(op, std::move(attrs), std::move(others));
  if (!lit) return std::nullopt;
  const auto shares = lit->data<float>();
  const std::size_t after = shares.size() / before;
  std::vector<double> matrix(shares.size());
  for (std::size_t from = 0; from < before; ++from) {
    for (std::size_t to = 0; to < after; ++to) {
      matrix[to * before + from] = static_cast<double>(shares[from * after + to]);
    }
  }
  return matrix;
}

}  // namespace isthmus::rewrites
