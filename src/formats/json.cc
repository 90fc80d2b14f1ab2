// Builds the tree of a JSON text from the events of nlohmann's parser.
#include "formats/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/untrusted_text.h"

namespace isthmus::json {
namespace {

constexpr std::size_t kMaxDepth = 256;
// The graph of a model with ten thousand nodes has about 20 MB of text and a million values.
constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxValues = std::size_t{1} << 22;

// Python writes numbers that JSON has not as bare words; newer versions of PyTorch write them as strings. Here they are
// strings in any case.
constexpr std::string_view kBareWords[] = {"Infinity", "-Infinity", "NaN"};

bool may_have_bare_words(std::string_view text) {
  return text.find("Infinity") != std::string_view::npos || text.find("NaN") != std::string_view::npos;
}

std::string with_words_quoted(std::string_view text) {
  std::string result;
  result.reserve(text.size() + text.size() / 8);
  bool is_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_string && text[i] == '\\' && i + 1 < text.size()) {
      result += text.substr(i++, 2);
      continue;
    }
    if (text[i] == '"') is_string = !is_string;
    const auto word = std::ranges::find_if(
        kBareWords, [&](std::string_view bare) { return !is_string && text.substr(i).starts_with(bare); });
    if (word == std::end(kBareWords)) {
      result += text[i];
      continue;
    }
    result += fmt::format("\"{}\"", *word);
    i += word->size() - 1;
  }
  return result;
}

}  // namespace

// Receives the parser's events. Texts go to one buffer, which never needs to grow: no text is longer than its source.
class Builder {
 public:
  Builder(Document& document, std::size_t text_bytes) : document_(document) {
    document_.texts_.reserve(text_bytes);
    document_.slots_.reserve(text_bytes / 12);
  }

  bool null() { return add(Kind::kNull); }
  bool boolean(bool value) {
    if (!add(Kind::kBool)) return false;
    document_.slots_.back().integer = value ? 1 : 0;
    return true;
  }
  bool number_integer(std::int64_t value) {
    if (!add(Kind::kInteger)) return false;
    document_.slots_.back().integer = value;
    return true;
  }
  bool number_unsigned(std::uint64_t value) {
    if (std::in_range<std::int64_t>(value)) return number_integer(static_cast<std::int64_t>(value));
    return number_float(static_cast<double>(value), {});
  }
  bool number_float(double value, const std::string&) {
    if (!add(Kind::kNumber)) return false;
    document_.slots_.back().number = value;
    return true;
  }
  bool string(const std::string& value) {
    if (!add(Kind::kString)) return false;
    Document::Slot& slot = document_.slots_.back();
    std::tie(slot.text_at, slot.text_size) = keep(value);
    return true;
  }
  bool binary(const std::vector<std::uint8_t>&) { return refuse("JSON has no binary values"); }
  bool start_object(std::size_t) { return open(Kind::kObject); }
  bool start_array(std::size_t) { return open(Kind::kArray); }
  bool key(const std::string& value) {
    key_ = keep(value);
    return true;
  }
  bool end_object() { return has_unique_keys() && close(); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
    std::string_view what = error.what();
    what.remove_prefix(std::min(what.size(), what.find("] ") + 2));
    constexpr std::size_t kMaxShown = 200;
    std::string shown(what.substr(0, kMaxShown));
    // The parser cites the text, which may be no text at all.
    std::ranges::replace_if(
        shown, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    return refuse(fmt::format("not valid JSON at byte {}: {}", position, shown));
  }

  bool has_refused() const { return !reason_.empty(); }
  const std::string& reason() const { return reason_; }

 private:
  bool refuse(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  std::pair<std::uint32_t, std::uint32_t> keep(std::string_view text) {
    const auto at = static_cast<std::uint32_t>(document_.texts_.size());
    document_.texts_ += text;
    return {at, static_cast<std::uint32_t>(text.size())};
  }

  bool add(Kind kind) {
    if (document_.slots_.size() >= kMaxValues) return refuse(fmt::format("more than {} values", kMaxValues));
    Document::Slot& slot = document_.slots_.emplace_back();
    slot.kind = kind;
    std::tie(slot.key_at, slot.key_size) = std::exchange(key_, {0, 0});
    slot.end = static_cast<std::uint32_t>(document_.slots_.size());
    return true;
  }

  bool open(Kind kind) {
    if (open_.size() >= kMaxDepth) return refuse(fmt::format("values are nested deeper than {}", kMaxDepth));
    open_.push_back(static_cast<std::uint32_t>(document_.slots_.size()));
    return add(kind);
  }
  bool close() {
    document_.slots_[open_.back()].end = static_cast<std::uint32_t>(document_.slots_.size());
    open_.pop_back();
    return true;
  }

  bool has_unique_keys() {
    keys_.clear();
    const auto end = static_cast<std::uint32_t>(document_.slots_.size());
    for (std::uint32_t at = open_.back() + 1; at < end; at = document_.slots_[at].end) {
      keys_.push_back(document_.text(document_.slots_[at].key_at, document_.slots_[at].key_size));
    }
    std::ranges::sort(keys_);
    const auto twice = std::ranges::adjacent_find(keys_);
    return twice == keys_.end() || refuse(fmt::format("key {} occurs twice in one object", shown(*twice)));
  }

  Document& document_;
  std::vector<std::uint32_t> open_;  // the containers around the current place
  std::pair<std::uint32_t, std::uint32_t> key_{0, 0};
  std::vector<std::string_view> keys_;  // of the object being closed; kept for its capacity
  std::string reason_;
};

Expected<Document> Document::parse(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return bad_input(fmt::format("a JSON text of {} bytes; at most {} are read", text.size(), kMaxTextBytes));
  }
  const std::string quoted = may_have_bare_words(text) ? with_words_quoted(text) : std::string();
  if (!quoted.empty()) text = quoted;
  Document document;
  Builder builder(document, text.size());
  try {
    const bool is_complete = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
    if (is_complete && !builder.has_refused()) return document;
  } catch (const std::exception& error) {
    return bad_input(fmt::format("not valid JSON: {}", error.what()));
  }
  return bad_input(builder.reason());
}

// The way down: of each container on it, the child whose values include the one sought.
std::string Document::path_of(std::uint32_t index) const {
  std::string path;
  std::uint32_t at = 0;
  while (at != index) {
    const bool is_array = slots_[at].kind == Kind::kArray;
    std::size_t position = 0;
    ++at;
    for (; slots_[at].end <= index; at = slots_[at].end) ++position;
    const std::string_view key = text(slots_[at].key_at, slots_[at].key_size);
    constexpr std::size_t kLongWord = 64;
    const bool is_word = key.size() <= kLongWord &&
                         std::ranges::all_of(key, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
    if (is_array) {
      path += fmt::format("[{}]", position);
    } else if (is_word) {
      path += (path.empty() ? "" : ".") + std::string(key);
    } else {
      path += fmt::format("[{}]", shown(key));
    }
  }
  return path.empty() ? "top level" : path;
}

Kind Value::kind() const { return document_->slots_[index_].kind; }

std::string_view Value::key() const {
  const Document::Slot& slot = document_->slots_[index_];
  return document_->text(slot.key_at, slot.key_size);
}

tl::unexpected<Error> Value::error(std::string_view what, ErrorKind kind) const {
  return fail(kind, fmt::format("{}: {}", document_->path_of(index_), what));
}

tl::unexpected<Error> Value::expected(std::string_view what) const {
  const auto found = [this]() -> std::string {
    const Document::Slot& slot = document_->slots_[index_];
    switch (slot.kind) {
      case Kind::kNull:
        return "null";
      case Kind::kBool:
        return slot.integer != 0 ? "true" : "false";
      case Kind::kInteger:
        return fmt::format("{}", slot.integer);
      case Kind::kNumber:
        return fmt::format("{}", slot.number);
      case Kind::kString:
        return shown(document_->text(slot.text_at, slot.text_size));
      case Kind::kArray:
        return "an array";
      case Kind::kObject:
        return "an object";
    }
    return "another type";
  };
  return error(fmt::format("expected {}, got {}", what, found()));
}

Expected<Children> Value::elements() const {
  if (kind() != Kind::kArray) return expected("an array");
  return Children(document_, index_ + 1, document_->slots_[index_].end);
}

Expected<Children> Value::members() const {
  if (kind() != Kind::kObject) return expected("an object");
  return Children(document_, index_ + 1, document_->slots_[index_].end);
}

Expected<std::optional<Value>> Value::find(std::string_view key) const {
  for (const Value member : TRY(members())) {
    if (member.key() == key) return member.kind() == Kind::kNull ? std::nullopt : std::optional(member);
  }
  return std::nullopt;
}

Expected<Value> Value::get(std::string_view key) const {
  if (const auto member = TRY(find(key))) return *member;
  return error(fmt::format("key \"{}\" is missing", key));
}

Expected<Value> Value::only_member() const {
  const Children all = TRY(members());
  if (all.empty() || std::next(all.begin()) != all.end()) return expected("an object with exactly one key");
  return *all.begin();
}

Expected<bool> Value::as_bool() const {
  if (kind() != Kind::kBool) return expected("true or false");
  return document_->slots_[index_].integer != 0;
}

Expected<std::int64_t> Value::as_integer() const {
  if (kind() != Kind::kInteger) return expected("a 64-bit integer");
  return document_->slots_[index_].integer;
}

Expected<double> Value::as_number() const {
  const Document::Slot& slot = document_->slots_[index_];
  if (slot.kind == Kind::kInteger) return static_cast<double>(slot.integer);
  if (slot.kind == Kind::kNumber) return slot.number;
  return expected("a number");
}

Expected<std::string_view> Value::as_text() const {
  if (kind() != Kind::kString) return expected("a string");
  const Document::Slot& slot = document_->slots_[index_];
  return document_->text(slot.text_at, slot.text_size);
}

Children::Iterator& Children::Iterator::operator++() {
  index_ = document_->slots_[index_].end;
  return *this;
}

}  // namespace isthmus::json
