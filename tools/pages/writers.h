// Texts for man and for shells.
#pragma once

#include <span>
#include <string>

#include "describe.h"

namespace isthmus::pages {

// The page of one command in the language of man(7).
std::string manual(std::span<const CommandText> commands, const CommandText& command, const std::string& version);

// Completion functions of all commands.
std::string bash_completion(std::span<const CommandText> commands);
std::string zsh_completion(std::span<const CommandText> commands);
std::string fish_completion(std::span<const CommandText> commands);

}  // namespace isthmus::pages
