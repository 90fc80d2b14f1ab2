// Reference kernel of attention: one query at a time against all keys.
#include "interpret/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/portable_math.h"
#include "interpret/kernels/batches.h"

namespace isthmus {
namespace {

// What is added to the score of a query and a key: a number, or -inf where the key is not seen.
class Mask {
 public:
  Mask(const Tensor* mask, const std::vector<std::int64_t>& batch, std::int64_t queries, std::int64_t keys) {
    if (mask == nullptr) return;
    std::vector<std::int64_t> sizes = mask->sizes();
    sizes.insert(sizes.begin(), sizes.size() < 2 ? 2 - sizes.size() : 0, 1);
    rows_ = sizes[sizes.size() - 2];
    columns_ = sizes[sizes.size() - 1];
    places_ = batch_places({sizes.begin(), sizes.end() - 2}, batch);
    row_step_ = rows_ == 1 && queries != 1 ? 0 : columns_;
    column_step_ = columns_ == 1 && keys != 1 ? 0 : 1;
    if (mask->dtype() == DType::kBool) {
      for (const std::uint8_t is_seen : mask->data<std::uint8_t>()) {
        numbers_.push_back(is_seen != 0 ? 0 : -std::numeric_limits<double>::infinity());
      }
    } else {
      numbers_ = dispatch_float(mask->dtype(), [&]<class Number>(Number) {
        const auto numbers = mask->data<Number>();
        return std::vector<double>(numbers.begin(), numbers.end());
      });
    }
  }

  double at(std::size_t batch, std::int64_t query, std::int64_t key) const {
    if (numbers_.empty()) return 0;
    const std::int64_t place = places_[batch] * rows_ * columns_ + query * row_step_ + key * column_step_;
    return numbers_[static_cast<std::size_t>(place)];
  }

 private:
  std::vector<double> numbers_;
  std::vector<std::int64_t> places_;
  std::int64_t rows_ = 1;
  std::int64_t columns_ = 1;
  std::int64_t row_step_ = 0;
  std::int64_t column_step_ = 0;
};

// Scores become weights that add up to 1; all of them are 0 where no key is seen.
void normalize(std::vector<double>& scores) {
  double greatest = -std::numeric_limits<double>::infinity();
  for (const double score : scores) greatest = score > greatest || std::isnan(score) ? score : greatest;
  if (greatest == -std::numeric_limits<double>::infinity()) {
    std::ranges::fill(scores, 0);
    return;
  }
  double total = 0;
  for (double& score : scores) total += score = portable::exp(score - greatest);
  for (double& score : scores) score /= total;
}

}  // namespace

Expected<Tensor> attention(const KernelContext& context) {
  const auto& attrs = context.as<AttentionAttrs>();
  return dispatch_float(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    Tensor result = context.result();
    if (result.count() == 0) return result;
    const Tensor& query = context.inputs[0];
    const Tensor& key = context.inputs[1];
    const Tensor& value = context.inputs[2];
    const std::int64_t queries = query.size(query.rank() - 2);
    const std::int64_t keys = key.size(key.rank() - 2);
    const std::int64_t depth = query.size(query.rank() - 1);
    const std::int64_t width = value.size(value.rank() - 1);
    const double scale = attrs.scale != 0 ? attrs.scale : 1 / std::sqrt(static_cast<double>(depth));
    const std::vector<std::int64_t> batch = batch_of(result);
    const auto query_places = batch_places(batch_of(query), batch);
    const auto key_places = batch_places(batch_of(key), batch);
    const auto value_places = batch_places(batch_of(value), batch);
    const Mask mask(context.inputs.size() > 3 ? &context.inputs[3] : nullptr, batch, queries, keys);
    std::vector<double> scores(static_cast<std::size_t>(keys));
    std::vector<double> sums(static_cast<std::size_t>(width));
    Number* out = result.mutable_data<Number>().data();
    for (std::size_t b = 0; b < query_places.size(); ++b) {
      const Number* q = query.data<Number>().data() + query_places[b] * queries * depth;
      const Number* all_keys = key.data<Number>().data() + key_places[b] * keys * depth;
      const Number* values = value.data<Number>().data() + value_places[b] * keys * width;
      for (std::int64_t i = 0; i < queries; ++i, q += depth, out += width) {
        for (std::int64_t j = 0; j < keys; ++j) {
          const Number* k = all_keys + j * depth;
          double product = 0;
          for (std::int64_t d = 0; d < depth; ++d) product += static_cast<double>(q[d]) * static_cast<double>(k[d]);
          const bool is_hidden = attrs.is_causal && j > i;
          scores[static_cast<std::size_t>(j)] =
              is_hidden ? -std::numeric_limits<double>::infinity() : product * scale + mask.at(b, i, j);
        }
        normalize(scores);
        std::ranges::fill(sums, 0);
        for (std::int64_t j = 0; j < keys; ++j) {
          const double share = scores[static_cast<std::size_t>(j)];
          for (std::int64_t d = 0; d < width; ++d) {
            sums[static_cast<std::size_t>(d)] += share * static_cast<double>(values[j * width + d]);
          }
        }
        std::ranges::transform(sums, out, [](double sum) { return static_cast<Number>(sum); });
      }
    }
    return result;
  });
}

}  // namespace isthmus
