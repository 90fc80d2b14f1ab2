// What the user probably meant by a word that does not exist.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace isthmus {

// The words that are a few letters to change, add or drop away, the nearest first; of equally near ones the first
// given. Words of more than 200 letters are near to nothing.
std::vector<std::string_view> near_words(std::string_view word, std::span<const std::string_view> words,
                                         std::size_t limit);

}  // namespace isthmus
