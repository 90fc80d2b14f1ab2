// Calls of one frontend operator, for tests of what its names mean.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace isthmus::test {

// `inputs` are "%x : f32[2,3], %i : i64[2]", or whole lines such as "symbol ..." and "input ..." and "const ...".
// `types` are those of the results, `call` is what stands in the brackets of foreign(...).

// The ops that the call becomes, one per line, with values numbered; or the error, or the note that says why not.
std::string form_of(std::string_view inputs, std::string_view types, std::string_view call);

// All calls become the same ops.
testing::AssertionResult same_form(std::string_view inputs, std::string_view types,
                                   const std::vector<std::string>& calls);

// All elements of all results, one after another, for inputs with these elements.
std::vector<double> run(std::string_view inputs, std::string_view types, std::string_view call,
                        const std::vector<std::vector<double>>& elements);

// The call ends in an error or stays foreign; it never becomes ops.
bool is_refused(std::string_view inputs, std::string_view types, std::string_view call);

}  // namespace isthmus::test
