// Buffers of fixed size, written by system calls.
#include "cli/last_words.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/leftovers.h"
#include "cli/app.h"
#include "cli/terminal.h"
#include "report/error.h"

namespace isthmus {
namespace {

class FixedText {
 public:
  void add(std::string_view text) { size_ += text.copy(bytes_.data() + size_, bytes_.size() - size_); }
  // Without what terminals obey and JSON escapes.
  void add_plain(std::string_view text) {
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      const char plain = byte < ' ' || byte >= 0x7f || c == '"' || c == '\\' ? '?' : c;
      add({&plain, 1});
    }
  }
  void write_to(int descriptor) const {
    // There is nothing left to do where it fails.
    if (::write(descriptor, bytes_.data(), size_) < 0) return;
  }
  std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 4096> bytes_{};
  std::size_t size_ = 0;
};

// The JSON object of an error, around its message. Empty without --json.
FixedText json_before;
FixedText json_after;

}  // namespace

void make_last_words_json() {
  constexpr std::string_view kMessage = "MESSAGE";
  const std::string json = error_json(Error(ErrorKind::kEnvironment, std::string(kMessage)), "failed");
  const std::size_t at = json.find(kMessage);
  json_before.add(std::string_view(json).substr(0, at));
  json_after.add(std::string_view(json).substr(at + kMessage.size()));
}

void end_with_words(std::initializer_list<std::string_view> parts) {
  remove_leftovers();
  FixedText message;
  for (const std::string_view part : parts) message.add_plain(part);
  if (!json_before.text().empty() && !has_printed_output()) {
    FixedText json;
    json.add(json_before.text());
    json.add(message.text());
    json.add(json_after.text());
    json.write_to(STDOUT_FILENO);
  }
  FixedText line;
  line.add("error: ");
  line.add(message.text());
  line.add("\n");
  line.write_to(STDERR_FILENO);
  ::_exit(kExitFailed);
}

}  // namespace isthmus
