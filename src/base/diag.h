// What a stage has to say that is not a failure. Libraries append here; only the command line prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace isthmus {

enum class Severity : std::uint8_t { kNote, kWarning };

struct Diagnostic {
  Severity severity = Severity::kNote;
  std::string code;  // stable: users and tests grep it
  std::string node;  // the value's name in the graph; empty where it concerns the whole model
  std::string text;
  std::string cause = {};  // the part of the text that says why, where errors quote it
  std::size_t line = 0;    // of the user's configuration, where the text is about one
};

class Diagnostics {
 public:
  void note(std::string code, std::string node, std::string text) {
    entries_.push_back({Severity::kNote, std::move(code), std::move(node), std::move(text)});
  }
  void warn(std::string code, std::string node, std::string text) {
    entries_.push_back({Severity::kWarning, std::move(code), std::move(node), std::move(text)});
  }
  void add(Diagnostic entry) { entries_.push_back(std::move(entry)); }
  const std::vector<Diagnostic>& entries() const { return entries_; }

 private:
  std::vector<Diagnostic> entries_;
};

}  // namespace isthmus
