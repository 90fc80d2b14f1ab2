// Recurrent layers of ONNX: the gates in another order than PyTorch's, one layer at a time.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "ops/elementwise.h"
#include "ops/known.h"
#include "ops/onnx/families.h"
#include "ops/onnx/reading.h"

namespace isthmus::onnx_ops {
namespace {

struct Layer {
  ValueId input;   // [time, batch, features], whatever the layout of the file
  Values weights;  // of each direction: input, state, and two biases where there are any
  Values states;   // hidden, and cell of an LSTM: [directions, batch, hidden]
  std::size_t directions = 1;
  std::int64_t hidden = 0;
  bool is_reversed = false;
  bool is_batch_first = false;
};

// Rows of a matrix or a vector, in blocks of `size`, in another order.
Expected<ValueId> reordered(Call& call, ValueId value, const Ints& order, std::int64_t size) {
  Values parts;
  for (const std::int64_t block : order) parts.push_back(TRY(call.slice(value, 0, block * size, (block + 1) * size)));
  return parts.size() == 1 ? Expected<ValueId>(parts[0]) : call.cat(std::move(parts), 0);
}

// One of the slices of the first axis, without the axis.
Expected<ValueId> direction(Call& call, ValueId value, std::int64_t index) {
  Shape shape = call.shape(value);
  if (shape.empty() || !shape[0].is_fixed() || index >= shape[0].value()) {
    return bad_input(call.target() + ": the weights have fewer directions than the layer");
  }
  shape.erase(shape.begin());
  return call.reshape(TRY(call.slice(value, 0, index, index + 1)), std::move(shape));
}

Expected<void> demand_plain(Call& call, std::initializer_list<std::string_view> activations) {
  if (TRY(call.number("clip", 0)) != 0) return Call::unsupported("clipped gates are not supported");
  if (TRY(call.flag("input_forget", false))) return Call::unsupported("coupled gates are not supported");
  const ArgValue* given = call.find("activations");
  if (given == nullptr) return {};
  const auto* list = std::get_if<std::vector<ArgValue>>(&given->value);
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const auto* name = std::get_if<std::string>(&(*list)[i].value);
    if (name == nullptr || *name != *(activations.begin() + i % activations.size())) {
      return Call::unsupported("only the default activations are supported");
    }
  }
  return {};
}

Expected<Layer> read_layer(Call& call, const Ints& gates, std::size_t state_count) {
  Layer layer;
  layer.input = TRY(call.tensor("X"));
  layer.is_batch_first = TRY(call.integer("layout", 0)) != 0;
  if (layer.is_batch_first && call.rank(layer.input) == 3) layer.input = TRY(call.permute(layer.input, {1, 0, 2}));
  layer.hidden = TRY(call.integer("hidden_size"));
  if (layer.hidden < 1 || layer.hidden > (1 << 24))
    return bad_input(fmt::format("invalid hidden size {}", layer.hidden));
  if (call.rank(layer.input) != 3)
    return bad_input(fmt::format("unsupported input of rank {}", call.rank(layer.input)));
  const std::string way = TRY(call.text("direction", "forward"));
  layer.directions = way == "bidirectional" ? 2 : 1;
  layer.is_reversed = way == "reverse";
  const auto count = static_cast<std::int64_t>(gates.size());
  const ValueId w = TRY(call.tensor("W"));
  const ValueId r = TRY(call.tensor("R"));
  for (std::size_t i = 0; i < layer.directions; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    layer.weights.push_back(TRY(reordered(call, TRY(direction(call, w, at)), gates, layer.hidden)));
    layer.weights.push_back(TRY(reordered(call, TRY(direction(call, r, at)), gates, layer.hidden)));
    if (const auto bias = call.tensor_if("B")) {
      const ValueId both = TRY(direction(call, *bias, at));
      const ValueId first = TRY(call.slice(both, 0, 0, count * layer.hidden));
      const ValueId second = TRY(call.slice(both, 0, count * layer.hidden, 2 * count * layer.hidden));
      layer.weights.push_back(TRY(reordered(call, first, gates, layer.hidden)));
      layer.weights.push_back(TRY(reordered(call, second, gates, layer.hidden)));
    }
  }
  const Shape shape = call.shape(layer.input);
  const Dim batch = shape[1];
  const Dim steps = shape[0];
  if (call.has("sequence_lens")) {
    const Ints lengths = TRY(integers(call, "sequence_lens"));
    const bool is_full = std::ranges::all_of(lengths, [&](std::int64_t length) { return steps.is(length); });
    if (!is_full) return Call::unsupported("sequences of different lengths are not supported");
  }
  for (const std::string_view name : {"initial_h", "initial_c"}) {
    if (layer.states.size() == state_count) break;
    if (auto given = call.tensor_if(name)) {
      layer.states.push_back(layer.is_batch_first ? TRY(call.permute(*given, {1, 0, 2})) : *given);
    } else {
      const Shape state{static_cast<std::int64_t>(layer.directions), batch, layer.hidden};
      layer.states.push_back(TRY(filled(call, 0, call.type(layer.input).dtype, state)));
    }
  }
  if (layer.is_reversed) {
    layer.input = TRY(call.emit(Op::kFlip, AxesAttrs{{0}}, {layer.input}));
  }
  return layer;
}

// PyTorch's results as ONNX has them: all hidden states, then the last ones.
Expected<Values> results_of(Call& call, const Layer& layer, Values results) {
  if (layer.is_reversed) results[0] = TRY(call.emit(Op::kFlip, AxesAttrs{{0}}, {results[0]}));
  Shape shape = call.shape(results[0]);
  shape.back() = layer.hidden;
  shape.insert(shape.begin() + 2, Dim(static_cast<std::int64_t>(layer.directions)));
  results[0] = TRY(call.reshape(results[0], std::move(shape)));  // [time, batch, directions, hidden]
  results[0] = TRY(call.permute(results[0], layer.is_batch_first ? Ints{1, 0, 2, 3} : Ints{0, 2, 1, 3}));
  for (std::size_t i = 1; layer.is_batch_first && i < results.size(); ++i) {
    results[i] = TRY(call.permute(results[i], {1, 0, 2}));
  }
  return results;
}

Expected<Values> run(Call& call, const Layer& layer, std::string target) {
  TorchCall torch(call, std::move(target));
  torch.tensor("input", layer.input);
  if (layer.states.size() == 2) {
    torch.tensors("hx", layer.states);
  } else {
    torch.tensor("hx", layer.states[0]);
  }
  torch.tensors("params", layer.weights)
      .flag("has_biases", call.has("B"))
      .integer("num_layers", 1)
      .flag("bidirectional", layer.directions == 2)
      .results(layer.states.size() + 1);
  return results_of(call, layer, TRY(torch.read()));
}

Expected<ValueId> gate(Call& call, ValueId value, std::int64_t index, std::int64_t hidden) {
  return call.slice(value, call.rank(value) - 1, index * hidden, (index + 1) * hidden);
}

Expected<ValueId> linear(Call& call, ValueId x, ValueId weight, std::optional<ValueId> bias) {
  Values inputs{x, weight};
  if (bias) inputs.push_back(*bias);
  return call.emit(Op::kLinear, NoAttrs{}, std::move(inputs));
}

// One direction of a layer that is written out step by step.
struct Direction {
  std::int64_t index;
  ValueId state_weight;
  std::optional<ValueId> state_bias;
};
// The states after a step; `now` is what the input contributes to each gate.
using Step = std::function<Expected<Values>(const Direction& direction, ValueId now, const Values& states)>;

Expected<ValueId> joined(Call& call, Values parts, std::int64_t axis) {
  return parts.size() == 1 ? Expected<ValueId>(parts[0]) : call.cat(std::move(parts), axis);
}

// `prepare` looks at a direction once and gives its step.
Expected<Values> unrolled(Call& call, const Layer& layer,
                          const std::function<Expected<Step>(const Direction& direction)>& prepare) {
  constexpr std::int64_t kMaxUnrolledSteps = 4096;
  const Dim steps = call.size(layer.input, 0);
  if (!steps.is_fixed() || steps.value() > kMaxUnrolledSteps)
    return Call::unsupported("the sequence needs a static length");
  if (steps.value() < 1) return bad_input("the sequence is empty");
  const std::size_t stride = layer.weights.size() / layer.directions;
  Values all;
  std::vector<Values> last(layer.states.size());
  for (std::size_t d = 0; d < layer.directions; ++d) {
    const auto weight = [&](std::size_t i) { return layer.weights[d * stride + i]; };
    const auto bias = [&](std::size_t i) { return stride == 4 ? std::optional(weight(i)) : std::nullopt; };
    const Direction way{static_cast<std::int64_t>(d), weight(1), bias(3)};
    const Step step = TRY(prepare(way));
    const ValueId from_input = TRY(linear(call, layer.input, weight(0), bias(2)));
    Values states;
    for (const ValueId state : layer.states) states.push_back(TRY(direction(call, state, way.index)));
    Shape row_shape = call.shape(states[0]);
    row_shape.insert(row_shape.begin(), Dim(1));
    Values rows(static_cast<std::size_t>(steps.value()), states[0]);
    for (std::int64_t i = 0; i < steps.value(); ++i) {
      const std::int64_t at = d == 1 ? steps.value() - 1 - i : i;
      states = TRY(step(way, TRY(direction(call, from_input, at)), states));
      rows[static_cast<std::size_t>(at)] = TRY(call.reshape(states[0], row_shape));
    }
    for (std::size_t i = 0; i < states.size(); ++i) last[i].push_back(TRY(call.reshape(states[i], row_shape)));
    all.push_back(TRY(joined(call, std::move(rows), 0)));
  }
  Values results{TRY(joined(call, std::move(all), 2))};
  for (Values& state : last) results.push_back(TRY(joined(call, std::move(state), 0)));
  return results_of(call, layer, std::move(results));
}

// The state is reset before it is multiplied: gates in ONNX's order, update, reset and hidden.
Expected<Values> reset_first(Call& call, const Layer& layer) {
  const std::int64_t size = layer.hidden;
  return unrolled(call, layer, [&](const Direction& way) -> Expected<Step> {
    std::optional<ValueId> gates_bias;
    std::optional<ValueId> hidden_bias;
    if (way.state_bias) {
      gates_bias = TRY(call.slice(*way.state_bias, 0, 0, 2 * size));
      hidden_bias = TRY(call.slice(*way.state_bias, 0, 2 * size, 3 * size));
    }
    const ValueId gates_weight = TRY(call.slice(way.state_weight, 0, 0, 2 * size));
    const ValueId hidden_weight = TRY(call.slice(way.state_weight, 0, 2 * size, 3 * size));
    return Step([=, &call](const Direction&, ValueId now, const Values& states) -> Expected<Values> {
      const ValueId state = states[0];
      const ValueId both = TRY(linear(call, state, gates_weight, gates_bias));
      const auto opened = [&](std::int64_t index) -> Expected<ValueId> {
        const ValueId sum =
            TRY(call.binary(Op::kAdd, TRY(gate(call, now, index, size)), TRY(gate(call, both, index, size))));
        return call.unary(Op::kSigmoid, sum);
      };
      const ValueId update = TRY(opened(0));
      const ValueId kept = TRY(call.binary(Op::kMul, TRY(opened(1)), state));
      const ValueId news_in = TRY(
          call.binary(Op::kAdd, TRY(gate(call, now, 2, size)), TRY(linear(call, kept, hidden_weight, hidden_bias))));
      const ValueId news = TRY(call.unary(Op::kTanh, news_in));
      const ValueId change = TRY(call.binary(Op::kSub, state, news));
      return one(call.binary(Op::kAdd, TRY(call.binary(Op::kMul, update, change)), news));
    });
  });
}

// Gates see the cell as well: those of input and forget before the step, that of the output behind it.
Expected<Values> lstm_with_peepholes(Call& call, const Layer& layer) {
  const std::int64_t size = layer.hidden;
  const ValueId peepholes = TRY(call.tensor("P"));
  return unrolled(call, layer, [&](const Direction& way) -> Expected<Step> {
    const ValueId all = TRY(direction(call, peepholes, way.index));
    return Step([=, &call](const Direction& step, ValueId now, const Values& states) -> Expected<Values> {
      const ValueId from_state = TRY(linear(call, states[0], step.state_weight, step.state_bias));
      const ValueId sums = TRY(call.binary(Op::kAdd, now, from_state));
      const auto opened = [&](std::int64_t index, ValueId cell) -> Expected<ValueId> {
        const ValueId seen = TRY(call.binary(Op::kMul, TRY(gate(call, all, index, size)), cell));
        return call.unary(Op::kSigmoid, TRY(call.binary(Op::kAdd, TRY(gate(call, sums, index, size)), seen)));
      };
      const ValueId news = TRY(call.unary(Op::kTanh, TRY(gate(call, sums, 3, size))));
      const ValueId taken = TRY(call.binary(Op::kMul, TRY(opened(0, states[1])), news));
      const ValueId kept = TRY(call.binary(Op::kMul, TRY(opened(2, states[1])), states[1]));
      const ValueId cell = TRY(call.binary(Op::kAdd, kept, taken));
      const ValueId shown_cell = TRY(call.unary(Op::kTanh, cell));
      return Values{TRY(call.binary(Op::kMul, TRY(opened(1, cell)), shown_cell)), cell};
    });
  });
}

// Gates: input, output, forget, cell; PyTorch has input, forget, cell, output.
Expected<Values> read_lstm(Call& call) {
  TRY(demand_plain(call, {"Sigmoid", "Tanh", "Tanh"}));
  if (call.has("P")) return lstm_with_peepholes(call, TRY(read_layer(call, {0, 1, 2, 3}, 2)));
  return run(call, TRY(read_layer(call, {0, 2, 3, 1}, 2)), "aten.lstm.input");
}

// Weights of int8, their input axis before that of the gates. Data are quantized as the model runs there, for speed;
// here the layer computes in float, or is quantized like any other.
Expected<Values> read_dynamic_quantize_lstm(Call& call) {
  TorchCall layer(call, "onnx.LSTM.14");
  layer.tensor("X", TRY(call.tensor("X")));
  for (const std::string name : {"W", "R"}) {
    const ValueId codes = TRY(call.cast(TRY(call.tensor(name)), DType::kF32));
    const auto by_direction = [&](ValueId value) -> Expected<ValueId> {  // [directions] or [directions, gates]
      const Shape shape = call.shape(value);
      if (shape.empty() || shape.size() > 2) return bad_input(name + ": unsupported rank of the scales");
      return call.reshape(value, {shape[0], 1, shape.size() == 2 ? shape[1] : Dim(1)});
    };
    const ValueId zero_point = TRY(call.cast(TRY(call.tensor(name + "_zero_point")), DType::kF32));
    const ValueId centred = TRY(call.binary(Op::kSub, codes, TRY(by_direction(zero_point))));
    const ValueId numbers = TRY(call.binary(Op::kMul, centred, TRY(by_direction(TRY(call.tensor(name + "_scale"))))));
    if (call.rank(numbers) != 3) return bad_input(name + ": the weights do not have rank 3");
    layer.tensor(name, TRY(call.permute(numbers, {0, 2, 1})));
  }
  for (const std::string name : {"B", "sequence_lens", "initial_h", "initial_c", "P"}) {
    layer.tensor(name, call.tensor_if(name));
  }
  return layer.attributes().results(3).read();
}

Expected<Values> read_gru(Call& call) {
  TRY(demand_plain(call, {"Sigmoid", "Tanh"}));
  if (TRY(call.flag("linear_before_reset", false))) {
    return run(call, TRY(read_layer(call, {1, 0, 2}, 1)), "aten.gru.input");
  }
  return reset_first(call, TRY(read_layer(call, {0, 1, 2}, 1)));
}

Expected<Values> read_rnn(Call& call) {
  const bool is_relu = demand_plain(call, {"Relu"}) && call.has("activations");
  if (!is_relu) TRY(demand_plain(call, {"Tanh"}));
  return run(call, TRY(read_layer(call, {0}, 1)), is_relu ? "aten.rnn_relu.input" : "aten.rnn_tanh.input");
}

}  // namespace

Family recurrent_family() {
  static constexpr Row kRows[] = {
      row("onnx.LSTM", "X W R B sequence_lens initial_h initial_c P", read_lstm),
      row("onnx.com.microsoft.DynamicQuantizeLSTM",
          "X W R B sequence_lens initial_h initial_c P W_scale W_zero_point R_scale R_zero_point",
          read_dynamic_quantize_lstm),
      row("onnx.GRU", "X W R B sequence_lens initial_h", read_gru),
      row("onnx.RNN", "X W R B sequence_lens initial_h", read_rnn),
  };
  return family_of("onnx recurrent", kRows);
}

}  // namespace isthmus::onnx_ops
