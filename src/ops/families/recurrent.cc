// Recurrent layers, written out step by step over a time axis of fixed size.
#include <fmt/format.h>

#include <algorithm>

#include "ops/call.h"
#include "ops/demands.h"
#include "ops/families.h"

namespace isthmus {
namespace {

// More steps would make graphs too large to use.
constexpr std::int64_t kMaxSteps = 4096;

enum class Unit : std::uint8_t { kLstm, kGru, kTanh, kRelu };

struct Weights {
  ValueId input;
  ValueId state;
  std::optional<ValueId> input_bias;
  std::optional<ValueId> state_bias;
  std::optional<ValueId> projection;
};

struct State {
  ValueId hidden;
  std::optional<ValueId> cell;  // of an LSTM only
};

Expected<ValueId> linear(Call& call, ValueId x, ValueId weight, std::optional<ValueId> bias) {
  Values inputs{x, weight};
  if (bias) inputs.push_back(*bias);
  return call.emit(Op::kLinear, NoAttrs{}, std::move(inputs));
}

// One of `count` equal parts of the last axis.
Expected<ValueId> part(Call& call, ValueId gates, std::int64_t index, std::int64_t count) {
  const std::int64_t axis = call.rank(gates) - 1;
  const auto size = call.exprs().divide_exactly(call.size(gates, axis), count);
  if (!size) return bad_input(call.target() + ": the gates differ in size");
  const Dim start = call.exprs().multiply(*size, index);
  return call.slice(gates, axis, start, call.exprs().add(start, *size));
}

Expected<State> lstm_step(Call& call, ValueId from_input, const Weights& weights, const State& state) {
  const ValueId from_state = TRY(linear(call, state.hidden, weights.state, weights.state_bias));
  const ValueId gates = TRY(call.binary(Op::kAdd, from_input, from_state));
  const ValueId in = TRY(call.unary(Op::kSigmoid, TRY(part(call, gates, 0, 4))));
  const ValueId forget = TRY(call.unary(Op::kSigmoid, TRY(part(call, gates, 1, 4))));
  const ValueId news = TRY(call.unary(Op::kTanh, TRY(part(call, gates, 2, 4))));
  const ValueId out = TRY(call.unary(Op::kSigmoid, TRY(part(call, gates, 3, 4))));
  const ValueId kept = TRY(call.binary(Op::kMul, forget, *state.cell));
  const ValueId cell = TRY(call.binary(Op::kAdd, kept, TRY(call.binary(Op::kMul, in, news))));
  ValueId hidden = TRY(call.binary(Op::kMul, out, TRY(call.unary(Op::kTanh, cell))));
  if (weights.projection) hidden = TRY(linear(call, hidden, *weights.projection, {}));
  return State{hidden, cell};
}

Expected<State> gru_step(Call& call, ValueId from_input, const Weights& weights, const State& state) {
  const ValueId from_state = TRY(linear(call, state.hidden, weights.state, weights.state_bias));
  const auto gate = [&](std::int64_t index) -> Expected<ValueId> {
    const ValueId a = TRY(part(call, from_input, index, 3));
    const ValueId b = TRY(part(call, from_state, index, 3));
    return call.unary(Op::kSigmoid, TRY(call.binary(Op::kAdd, a, b)));
  };
  const ValueId reset = TRY(gate(0));
  const ValueId update = TRY(gate(1));
  const ValueId remembered = TRY(call.binary(Op::kMul, reset, TRY(part(call, from_state, 2, 3))));
  const ValueId news_in = TRY(call.binary(Op::kAdd, TRY(part(call, from_input, 2, 3)), remembered));
  const ValueId news = TRY(call.unary(Op::kTanh, news_in));
  const ValueId change = TRY(call.binary(Op::kSub, state.hidden, news));
  const ValueId hidden = TRY(call.binary(Op::kAdd, TRY(call.binary(Op::kMul, update, change)), news));
  return State{hidden, {}};
}

Expected<State> step(Call& call, Unit unit, ValueId from_input, const Weights& weights, const State& state) {
  switch (unit) {
    case Unit::kLstm:
      return lstm_step(call, from_input, weights, state);
    case Unit::kGru:
      return gru_step(call, from_input, weights, state);
    case Unit::kTanh:
    case Unit::kRelu:
      break;
  }
  const ValueId from_state = TRY(linear(call, state.hidden, weights.state, weights.state_bias));
  const ValueId sum = TRY(call.binary(Op::kAdd, from_input, from_state));
  if (unit == Unit::kTanh) return State{TRY(call.unary(Op::kTanh, sum)), {}};
  return State{TRY(call.emit(Op::kClamp, ClampAttrs{.min = 0}, {sum})), {}};
}

// Without the axis at a place, where its size is 1.
Expected<ValueId> drop_axis(Call& call, ValueId value, std::int64_t axis) {
  Shape shape = call.shape(value);
  shape.erase(shape.begin() + axis);
  return call.reshape(value, std::move(shape));
}

Expected<ValueId> stack(Call& call, Values values, std::int64_t axis) {
  for (ValueId& value : values) {
    Shape shape = call.shape(value);
    shape.insert(shape.begin() + axis, Dim(1));
    value = TRY(call.reshape(value, std::move(shape)));
  }
  return call.cat(std::move(values), axis);
}

struct Layer {
  ValueId result;  // all hidden states, along the time axis
  State last;
};

Expected<Layer> run_layer(Call& call, Unit unit, ValueId input, std::int64_t time_axis, bool backwards,
                          const Weights& weights, State state) {
  const std::int64_t steps = call.size(input, time_axis).value();
  const ValueId all = TRY(linear(call, input, weights.input, weights.input_bias));
  Values hidden(static_cast<std::size_t>(steps), state.hidden);
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t at = backwards ? steps - 1 - i : i;
    const ValueId now = TRY(drop_axis(call, TRY(call.slice(all, time_axis, at, at + 1)), time_axis));
    state = TRY(step(call, unit, now, weights, state));
    hidden[static_cast<std::size_t>(at)] = state.hidden;
  }
  return Layer{TRY(stack(call, std::move(hidden), time_axis)), state};
}

Expected<ValueId> row(Call& call, ValueId states, std::int64_t index) {
  const Dim rows = call.size(states, 0);
  if (!rows.is_fixed() || index >= rows.value()) return bad_input(call.target() + ": fewer states than layers");
  return drop_axis(call, TRY(call.slice(states, 0, index, index + 1)), 0);
}

Expected<Values> read_layers(Call& call, Unit unit) {
  ValueId input = TRY(call.tensor("input"));
  const Values params = TRY(call.tensors("params"));
  const Values states = unit == Unit::kLstm ? TRY(call.tensors("hx")) : Values{TRY(call.tensor("hx"))};
  const bool has_biases = TRY(call.flag("has_biases", true));
  const std::int64_t layers = TRY(call.integer("num_layers", 1));
  const bool is_bidirectional = TRY(call.flag("bidirectional", false));
  const std::int64_t time_axis = TRY(call.flag("batch_first", false)) ? 1 : 0;
  if (TRY(call.flag("train", false)) && TRY(call.number("dropout", 0)) > 0 && layers > 1) {
    return Call::training_mode("dropout between recurrent layers is not supported");
  }
  if (states.size() != (unit == Unit::kLstm ? 2 : 1)) return bad_input(call.target() + ": wrong number of states");
  if (call.rank(input) != 3) return bad_input(call.target() + ": the input does not have rank 3");
  for (const ValueId state : states) {
    if (call.rank(state) != 3) return bad_input(call.target() + ": a state does not have rank 3");
  }
  const Dim steps = call.size(input, time_axis);
  if (!steps.is_fixed()) return Call::unsupported("a recurrent layer needs a static number of steps");
  if (steps.value() < 1 || steps.value() > kMaxSteps) {
    return Call::unsupported(fmt::format("invalid number of steps: {}", steps.value()));
  }
  const std::int64_t directions = is_bidirectional ? 2 : 1;
  const std::size_t plain = has_biases ? 4 : 2;
  if (layers < 1 || layers > static_cast<std::int64_t>(params.size())) return bad_input(call.target() + ": no layers");
  const auto runs = static_cast<std::size_t>(layers * directions);
  const std::size_t each = params.size() / runs;
  const bool is_projected = unit == Unit::kLstm && each == plain + 1;
  if (params.size() % runs != 0 || (each != plain && !is_projected)) {
    return bad_input(fmt::format("{}: {} parameters for {} layers", call.target(), params.size(), runs));
  }
  Values last_hidden;
  Values last_cells;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    Values results;
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      const std::int64_t run = layer * directions + direction;
      const auto first = params.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(run) * each);
      Weights weights{first[0], first[1], {}, {}, {}};
      if (has_biases) {
        weights.input_bias = first[2];
        weights.state_bias = first[3];
      }
      if (is_projected) weights.projection = first[static_cast<std::ptrdiff_t>(plain)];
      State state{TRY(row(call, states[0], run)), {}};
      if (unit == Unit::kLstm) state.cell = TRY(row(call, states[1], run));
      const Layer done = TRY(run_layer(call, unit, input, time_axis, direction == 1, weights, state));
      results.push_back(done.result);
      last_hidden.push_back(done.last.hidden);
      if (done.last.cell) last_cells.push_back(*done.last.cell);
    }
    input = TRY(call.cat(std::move(results), 2));
  }
  Values results{input, TRY(stack(call, std::move(last_hidden), 0))};
  if (unit == Unit::kLstm) results.push_back(TRY(stack(call, std::move(last_cells), 0)));
  return results;
}

Expected<Values> read_cell(Call& call, Unit unit) {
  const ValueId input = TRY(call.tensor("input"));
  const Weights weights{
      TRY(call.tensor("w_ih")), TRY(call.tensor("w_hh")), call.tensor_if("b_ih"), call.tensor_if("b_hh"), {}};
  State state{input, {}};
  if (unit == Unit::kLstm) {
    const Values states = TRY(call.tensors("hx"));
    if (states.size() != 2) return bad_input(call.target() + ": wrong number of states");
    state = {states[0], states[1]};
  } else {
    state.hidden = TRY(call.tensor("hx"));
  }
  const ValueId from_input = TRY(linear(call, input, weights.input, weights.input_bias));
  const State next = TRY(step(call, unit, from_input, weights, state));
  Values results{next.hidden};
  if (next.cell) results.push_back(*next.cell);
  return results;
}

Expected<Values> read_lstm(Call& call) { return read_layers(call, Unit::kLstm); }
Expected<Values> read_gru(Call& call) { return read_layers(call, Unit::kGru); }
Expected<Values> read_rnn_tanh(Call& call) { return read_layers(call, Unit::kTanh); }
Expected<Values> read_rnn_relu(Call& call) { return read_layers(call, Unit::kRelu); }
Expected<Values> read_lstm_cell(Call& call) { return read_cell(call, Unit::kLstm); }
Expected<Values> read_gru_cell(Call& call) { return read_cell(call, Unit::kGru); }
Expected<Values> read_rnn_tanh_cell(Call& call) { return read_cell(call, Unit::kTanh); }
Expected<Values> read_rnn_relu_cell(Call& call) { return read_cell(call, Unit::kRelu); }

}  // namespace

Family recurrent_family() {
  // The overloads for packed sequences are left out: their lengths are data.
  static const Spelling kCompounds[] = {
      {"aten.lstm.input", read_lstm},
      {"aten.gru.input", read_gru},
      {"aten.rnn_tanh.input", read_rnn_tanh},
      {"aten.rnn_relu.input", read_rnn_relu},
      {"aten.lstm_cell", read_lstm_cell},
      {"aten.gru_cell", read_gru_cell},
      {"aten.rnn_tanh_cell", read_rnn_tanh_cell},
      {"aten.rnn_relu_cell", read_rnn_relu_cell},
  };
  return {"recurrent", {}, kCompounds};
}

}  // namespace isthmus
