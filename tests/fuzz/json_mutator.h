// Mutations of JSON that stay JSON: values, members and elements are replaced, removed, doubled and renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace isthmus::fuzz {

class JsonMutator {
 public:
  explicit JsonMutator(std::minstd_rand& random) : random_(random) {}

  // Empty if the text is no JSON, or nested deeper than one would write by hand.
  std::string mutated(std::string_view text) {
    Json root = Json::parse(text, nullptr, false);
    if (root.is_discarded() || !collect(root, 0)) return {};
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      change(*nodes_[below(nodes_.size())]);
      nodes_.clear();
      if (!collect(root, 0)) return {};
    }
    return root.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  using Json = nlohmann::ordered_json;
  static constexpr std::size_t kMaxDepth = 100;
  static constexpr std::size_t kMaxNodes = 200'000;

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_()) % n; }

  bool collect(Json& json, std::size_t depth) {
    if (depth > kMaxDepth || nodes_.size() > kMaxNodes) return false;
    nodes_.push_back(&json);
    for (Json& part : json) {
      if (json.is_structured() && !collect(part, depth + 1)) return false;
    }
    return true;
  }

  Json some_value() {
    switch (below(9)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2:
        return static_cast<std::int64_t>(below(9)) - 2;
      case 3:
        return below(2) == 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
      case 4:
        return 1e308 * (below(2) == 0 ? 1 : -1);
      case 5:
        return "";
      case 6:
        return Json::array();
      case 7:
        return Json::object();
      default:
        return Json(*nodes_[below(nodes_.size())]);  // something that makes sense elsewhere
    }
  }

  void change(Json& json) {
    if (json.is_number_integer() && below(2) == 0) {
      const auto number = static_cast<std::uint64_t>(json.get<std::int64_t>());
      const std::uint64_t others[] = {number + 1, number - 1, 0 - number, number * 2, number << 32};
      json = static_cast<std::int64_t>(others[below(std::size(others))]);
    } else if (json.is_array() && !json.empty() && below(4) != 0) {
      const auto at = json.begin() + static_cast<std::ptrdiff_t>(below(json.size()));
      switch (below(4)) {
        case 0:
          json.erase(at);
          break;
        case 1: {
          Json copy = *at;
          json.insert(at, std::move(copy));
          break;
        }
        case 2:
          std::swap(*at, json[below(json.size())]);
          break;
        default:
          *at = some_value();
      }
    } else if (json.is_object() && !json.empty() && below(4) != 0) {
      auto at = json.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(below(json.size())));
      const std::string name = at.key();
      switch (below(3)) {
        case 0:
          json.erase(name);
          break;
        case 1: {  // a member of another name
          auto other = json.begin();
          std::advance(other, static_cast<std::ptrdiff_t>(below(json.size())));
          Json value = other.value();
          json[below(2) == 0 ? name : name + "_"] = std::move(value);
          break;
        }
        default:
          json[name] = some_value();
      }
    } else {
      Json value = some_value();
      json = std::move(value);
    }
  }

  std::minstd_rand& random_;
  std::vector<Json*> nodes_;
};

}  // namespace isthmus::fuzz
