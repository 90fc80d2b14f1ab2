// Quantizes and compiles a configuration when it is first asked for.
#include "session/attempts.h"

#include <algorithm>
#include <utility>

#include "quantize/config/techniques.h"
#include "session/runners.h"

namespace isthmus {

const InputMoments* Attempts::moments() {
  if (!moments_) moments_ = input_moments(inputs_.prepared.graph, inputs_.calibrated).value_or(InputMoments{});
  return moments_->empty() ? nullptr : &*moments_;
}

Expected<Tried*> Attempts::quantized(const QuantConfig& config) {
  const auto known = std::ranges::find_if(tried_, [&](const Tried& tried) {
    return tried.techniques == techniques_on(config) && tried.rules == config.rules.size();
  });
  if (known != tried_.end()) return &*known;
  return &tried_.emplace_back(TRY(make(config)));
}

Expected<Tried> Attempts::make(const QuantConfig& config) {
  Tried result;
  result.techniques = techniques_on(config);
  result.rules = config.rules.size();
  result.model = TRY(quantize(*TRY(adjusted(config)), inputs_.target, config, inputs_.refining, result.said));
  return result;
}

Expected<Adjusted*> Attempts::adjusted(const QuantConfig& config) {
  const bool has_moments = config.rounds_together && inputs_.statistics != nullptr;
  const std::pair key(config.equalize, has_moments);
  if (const auto known = adjusted_.find(key); known != adjusted_.end()) return &known->second;
  return &adjusted_
              .emplace(key, TRY(adjust(inputs_.prepared, inputs_.target, inputs_.statistics, config,
                                       has_moments ? moments() : nullptr)))
              .first->second;
}

Expected<const Statistics*> Attempts::statistics(const QuantConfig& config) {
  return TRY(adjusted(config))->statistics();
}

Expected<void> Attempts::compile_one(Tried& tried) const {
  tried.compiled = TRY(compile(tried.model.quantized.graph, tried.model.partitioning, inputs_.target, inputs_.examples,
                               nullptr, inputs_.input_orders, inputs_.attached));
  return {};
}

Expected<Tried> Attempts::once(const QuantConfig& config) {
  Tried tried = TRY(make(config));
  TRY(compile_one(tried));
  return tried;
}

Expected<Tried*> Attempts::compiled(const QuantConfig& config) {
  Tried* tried = TRY(quantized(config));
  if (!tried->compiled) {
    // Models are large: what was tried before is loaded again should it be chosen. The first mostly is.
    for (std::size_t i = 1; i < tried_.size(); ++i) {
      if (tried_[i].compiled) tried_[i].compiled->method = nullptr;
    }
    TRY(compile_one(*tried));
  }
  return tried;
}

Expected<Runner> Attempts::runner(const QuantConfig& config) {
  if (inputs_.is_reproducible) {
    return integer_runners(TRY(quantized(config))->model.quantized.graph, *inputs_.target.integers.kernels)();
  }
  return runner(*TRY(compiled(config)));
}

Expected<Runner> Attempts::runner(const Tried& tried) const {
  if (inputs_.is_reproducible) {
    return integer_runners(tried.model.quantized.graph, *inputs_.target.integers.kernels)();
  }
  return program_runners(Blob(tried.compiled->bytes, nullptr), &tried.model.quantized.graph, tried.compiled->method)();
}

}  // namespace isthmus
