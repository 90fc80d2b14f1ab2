// Distances between words.
#include "base/near_words.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace isthmus {
namespace {

constexpr std::size_t kLongest = 200;

// How many letters to change, add or drop.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::size_t changed = diagonal + (a[i] == b[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({changed, row[k] + 1, row[k + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string_view> near_words(std::string_view word, std::span<const std::string_view> words,
                                         std::size_t limit) {
  const std::size_t too_far = std::min<std::size_t>(word.size(), 4);  // so far away is not a typing error
  std::vector<std::pair<std::size_t, std::string_view>> found;
  for (const std::string_view candidate : words) {
    if (word.size() > kLongest || candidate.size() > kLongest) continue;
    const std::size_t far = distance(word, candidate);
    if (far < too_far) found.emplace_back(far, candidate);
  }
  std::ranges::stable_sort(found, {}, &std::pair<std::size_t, std::string_view>::first);
  std::vector<std::string_view> result;
  for (const auto& [far, candidate] : found) {
    if (result.size() < limit) result.push_back(candidate);
  }
  return result;
}

}  // namespace isthmus
