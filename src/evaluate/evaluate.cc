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
  Classes(Evaluation& result, std::span<const std::int64_t> labels, const Samples& samples)
      : result_(result), labels_(labels), samples_(samples) {
    result.has_labels = !labels.empty();
  }

  Expected<void> add(const Tensor& reference, const Tensor& found) {
    if (reference.rank() == 0 || reference.count() == 0) return {};
    const auto width = static_cast<std::size_t>(reference.sizes().back());
    if (result_.has_labels) TRY(find_labels(static_cast<std::size_t>(reference.count()) / width));
    const auto a = reference.data<float>();
    const auto b = found.data<float>();
    for (std::size_t at = 0; at < a.size(); at += width) {
      const std::size_t wanted = place_of_largest(a.subspan(at, width));
      const std::size_t got = place_of_largest(b.subspan(at, width));
      result_.agreeing += wanted == got ? 1 : 0;
      if (result_.has_labels) {
        const std::size_t row = before_ + static_cast<std::size_t>(result_.rows);
        if (row >= labels_.size()) {
          return bad_input(fmt::format("{} labels are too few for the results", labels_.size()));
        }
        const std::int64_t label = labels_[row];
        if (label < 0 || label >= static_cast<std::int64_t>(width)) {
          return bad_input(fmt::format("label {} (of sample {}) is {}, but the first output has {} classes, 0 to {}",
                                       row, samples_.first() + result_.samples, label, width, width - 1));
        }
        result_.right_reference += static_cast<std::int64_t>(wanted) == label ? 1 : 0;
        result_.right += static_cast<std::int64_t>(got) == label ? 1 : 0;
      }
      ++result_.rows;
    }
    return {};
  }

 private:
  // Those of a part begin behind those of all samples before it, which must have as many results each.
  Expected<void> find_labels(std::size_t rows) {
    if (rows_ == 0) {
      rows_ = rows;
      before_ = samples_.first() * rows;
      if (samples_.count()) TRY(check_count(rows, samples_.first() + *samples_.count()));
    }
    if (rows == rows_ || samples_.first() == 0) return {};
    return bad_input("labels cannot be split: samples differ in their number of results");
  }
  Expected<void> check_count(std::size_t rows, std::size_t samples) const {
    if (labels_.size() / rows >= samples) return {};
    return bad_input(fmt::format("{} labels are too few: {} samples{} need {}", labels_.size(), samples,
                                 rows == 1 ? "" : fmt::format(" of {} results each", rows), samples * rows));
  }

  Evaluation& result_;
  std::span<const std::int64_t> labels_;
  const Samples& samples_;
  std::size_t rows_ = 0;    // of the first sample
  std::size_t before_ = 0;  // labels of earlier parts
};

}  // namespace

void SignalToNoise::add(std::span<const float> reference, std::span<const float> found) {
  double signal = 0;
  double noise = 0;
  double product = 0;
  double square = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const auto wanted = static_cast<double>(reference[i]);
    const auto got = static_cast<double>(found[i]);
    signal += wanted * wanted;
    noise += (wanted - got) * (wanted - got);
    product += wanted * got;
    square += got * got;
  }
  count_ += reference.size();
  if (!std::isfinite(signal) || !std::isfinite(noise) || !std::isfinite(product) || !std::isfinite(square)) {
    ++not_finite_;
    return;
  }
  sums_.signal.add(signal);
  sums_.noise.add(noise);
  sums_.product.add(product);
  sums_.found.add(square);
}

void SignalToNoise::merge(const SignalToNoise& other) {
  sums_.signal.add(other.sums_.signal);
  sums_.noise.add(other.sums_.noise);
  sums_.product.add(other.sums_.product);
  sums_.found.add(other.sums_.found);
  count_ += other.count_;
  not_finite_ += other.not_finite_;
}

double SignalToNoise::db() const {
  if (not_finite_ > 0) return std::numeric_limits<double>::quiet_NaN();
  const double signal = sums_.signal.value();
  const double noise = sums_.noise.value();
  if (noise == 0) return std::numeric_limits<double>::infinity();
  if (signal == 0) return 0;
  return 10 * portable::log10(signal / noise);
}

double SignalToNoise::cosine() const {
  if (not_finite_ > 0) return std::numeric_limits<double>::quiet_NaN();
  const double signal = sums_.signal.value();
  const double found = sums_.found.value();
  if (signal == 0 || found == 0) return signal == found ? 1 : 0;
  return sums_.product.value() / std::sqrt(signal * found);
}

Expected<void> Evaluation::merge(const Evaluation& other) {
  if (!part || !other.part)
    return bad_input("only shards of one evaluation can be joined, and this file has all samples");
  if (samples > 0 && other.samples > 0 && outputs.size() != other.outputs.size()) {
    return bad_input(fmt::format("{} outputs in one and {} in the other", outputs.size(), other.outputs.size()));
  }
  TRY(part->join(*other.part));
  samples += other.samples;
  if (outputs.size() < other.outputs.size()) outputs.resize(other.outputs.size());
  for (std::size_t i = 0; i < other.outputs.size(); ++i) outputs[i].merge(other.outputs[i]);
  rows += other.rows;
  agreeing += other.agreeing;
  has_labels = has_labels || other.has_labels;
  right_reference += other.right_reference;
  right += other.right;
  return {};
}

Expected<Evaluation> evaluate(const Runner& reference, const Runner& program, Samples& samples,
                              std::span<const std::int64_t> labels, const std::function<bool(std::size_t)>& progress) {
  Evaluation result;
  Classes classes(result, labels, samples);
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
      if (place == 0) TRY(classes.add(*wanted[i], *found[i]));
      if (result.outputs.size() <= place) result.outputs.emplace_back();
      result.outputs[place++].add(wanted[i]->data<float>(), found[i]->data<float>());
    }
    ++result.samples;
    if (progress && !progress(static_cast<std::size_t>(result.samples))) return bad_input("interrupted");
  }
  return result;
}

}  // namespace isthmus
