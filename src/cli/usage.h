// Mistakes on the command line, and what was probably meant.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace isthmus {

// "; did you mean compile? ADVICE", or "; ADVICE", or nothing. Words that begin with the given one are near, too.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> words, std::string_view advice = {});

// One of these words; of another one, what was probably meant.
CLI::Validator one_of(std::vector<std::string> words);

// What is wrong with the words after the program's name, where the parser would say less: an unknown command or an
// unknown option.
std::optional<std::string> unknown_word(const CLI::App& app, std::span<const char* const> words);

// What the parser refused, for people.
std::string text_of(const CLI::ParseError& error, const CLI::App& app);

}  // namespace isthmus
