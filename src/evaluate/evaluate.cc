// Sums over samples.
#include "evaluate/evaluate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/portable_math.h"

namespace isthmus {
namespace {

std::size_t place_of_largest(std::span<const float> row) {
  return static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
}

// Quantized outputs of a program stand for numbers only its reader knows; they are compared by class alone.
bool is_real(const std::optional<Tensor>& tensor) { return tensor && tensor->dtype() == DType::kF32; }

Expected<void> check_shapes(std::size_t output, const Tensor& a, const Tensor& b) {
  if (a.sizes() == b.sizes() && b.dtype() == a.dtype()) return {};
  return bad_input(fmt::format("output {} of the program is {}[{}], that of the model {}[{}]", output,
                               name_of(b.dtype()), fmt::join(b.sizes(), ","), name_of(a.dtype()),
                               fmt::join(a.sizes(), ",")));
}

class Classes {
 public:
  Classes(Evaluation& result, std::span<const std::int64_t> labels) : result_(result), labels_(labels) {
    result.has_labels = !labels.empty();
  }

  // `samples` is how many there will be in all, where that is known.
  Expected<void> add(const Tensor& reference, const Tensor& found, std::optional<std::size_t> samples) {
    if (reference.rank() == 0 || reference.count() == 0) return {};
    const auto width = static_cast<std::size_t>(reference.sizes().back());
    if (result_.has_labels && result_.rows == 0 && samples) {
      TRY(check_count(static_cast<std::size_t>(reference.count()) / width, *samples));
    }
    const auto a = reference.data<float>();
    const auto b = found.data<float>();
    for (std::size_t at = 0; at < a.size(); at += width) {
      const std::size_t wanted = place_of_largest(a.subspan(at, width));
      const std::size_t got = place_of_largest(b.subspan(at, width));
      result_.agreeing += wanted == got ? 1 : 0;
      if (result_.has_labels) {
        const auto row = static_cast<std::size_t>(result_.rows);
        if (row >= labels_.size()) {
          return bad_input(fmt::format("there are {} labels and more results than that", labels_.size()));
        }
        const std::int64_t label = labels_[row];
        if (label < 0 || label >= static_cast<std::int64_t>(width)) {
          return bad_input(fmt::format("label {} (of sample {}) is {}, but the first output has {} classes, 0 to {}",
                                       row, result_.samples, label, width, width - 1));
        }
        result_.right_reference += static_cast<std::int64_t>(wanted) == label ? 1 : 0;
        result_.right += static_cast<std::int64_t>(got) == label ? 1 : 0;
      }
      ++result_.rows;
    }
    return {};
  }

 private:
  Expected<void> check_count(std::size_t rows, std::size_t samples) const {
    if (labels_.size() / rows >= samples) return {};
    return bad_input(fmt::format("{} labels are too few: {} samples{} need {}", labels_.size(), samples,
                                 rows == 1 ? "" : fmt::format(" of {} results each", rows), samples * rows));
  }

  Evaluation& result_;
  std::span<const std::int64_t> labels_;
};

}  // namespace

void SignalToNoise::add(std::span<const float> reference, std::span<const float> found) {
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const auto wanted = static_cast<double>(reference[i]);
    const auto got = static_cast<double>(found[i]);
    signal_ += wanted * wanted;
    noise_ += (wanted - got) * (wanted - got);
    product_ += wanted * got;
    found_ += got * got;
  }
  count_ += reference.size();
}

double SignalToNoise::db() const {
  if (noise_ == 0) return std::numeric_limits<double>::infinity();
  if (signal_ == 0) return 0;
  return 10 * portable::log10(signal_ / noise_);
}

double SignalToNoise::cosine() const {
  if (signal_ == 0 || found_ == 0) return signal_ == found_ ? 1 : 0;
  return product_ / std::sqrt(signal_ * found_);
}

Expected<Evaluation> evaluate(const Runner& reference, const Runner& program, Samples& samples,
                              std::span<const std::int64_t> labels, const std::function<bool(std::size_t)>& progress) {
  Evaluation result;
  Classes classes(result, labels);
  while (const auto sample = TRY(samples.next())) {
    const auto wanted = TRY(reference(*sample));
    const auto found = TRY(program(*sample));
    if (wanted.size() != found.size()) {
      return bad_input(fmt::format("the program returns {} tensors and the model {}", found.size(), wanted.size()));
    }
    std::size_t place = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!is_real(wanted[i]) || !is_real(found[i])) continue;
      TRY(check_shapes(i, *wanted[i], *found[i]));
      if (place == 0) TRY(classes.add(*wanted[i], *found[i], samples.count()));
      if (result.outputs.size() <= place) result.outputs.emplace_back();
      result.outputs[place++].add(wanted[i]->data<float>(), found[i]->data<float>());
    }
    ++result.samples;
    if (progress && !progress(static_cast<std::size_t>(result.samples))) return bad_input("interrupted");
  }
  return result;
}

}  // namespace isthmus
