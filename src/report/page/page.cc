// Puts the page together.
#include "report/page/page.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <span>

#include "base/check.h"
#include "base/sha256.h"
#include "report/page/parts.h"

namespace isthmus {
namespace {

// Text in HTML, between tags or in an attribute.
std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// JSON inside of a script element: no `<` is left that could end the element or open a comment.
std::string script_json(const Json& json) {
  std::string out;
  for (const char c : json.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    switch (c) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// The text of a JSON string with what is not UTF-8 replaced.
std::string clean(const Json& json, const char* key) {
  const std::string quoted = json.at(key).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

std::string source_hash(std::string_view source) {
  return fmt::format("'sha256-{}'", sha256_base64(std::as_bytes(std::span(source))));
}

struct Slot {
  std::string_view name;
  std::string text;
};

// Every slot stands once in the template, in this order; what goes in is not looked at again.
std::string fill(std::string_view text, std::span<const Slot> slots) {
  std::string out;
  for (const Slot& slot : slots) {
    const std::string mark = fmt::format("{{{{{}}}}}", slot.name);
    const std::size_t at = text.find(mark);
    CHECK(at != std::string_view::npos, "the page's template has no such slot");
    out += text.substr(0, at);
    out += slot.text;
    text.remove_prefix(at + mark.size());
  }
  return out += text;
}

}  // namespace

std::string to_page(const Json& data) {
  const std::string library = fmt::format("/*\n{}*/\n{}", page::kDagreLicence, page::kDagre);
  std::string reasons;
  for (const Json& reason : data.at("verdict").at("reasons")) {
    reasons += fmt::format("<li>{}</li>", html_text(clean(Json{{"text", reason}}, "text")));
  }
  const std::array<Slot, 10> slots{{
      {"styles", source_hash(page::kStyle)},
      {"scripts", fmt::format("{} {}", source_hash(library), source_hash(page::kScript))},
      {"title", html_text(clean(data, "title"))},
      {"style", std::string(page::kStyle)},
      {"grade", html_text(clean(data.at("verdict"), "grade"))},
      {"headline", html_text(clean(data.at("verdict"), "headline"))},
      {"reasons", reasons},
      {"data", script_json(data)},
      {"library", library},
      {"script", std::string(page::kScript)},
  }};
  return fill(page::kTemplate, slots);
}

std::string page_of(const CompileSummary& summary, const Session& session, std::vector<ValueError> errors,
                    const std::string& word) {
  const QuantizedModel* quantized = session.quantized();
  if (errors.empty() && quantized != nullptr && quantized->plan.has_ranges) {
    // A model that the reference kernels cannot run has a page without these figures.
    if (auto found = session.layer_errors()) errors = *std::move(found);
  }
  return to_page(page_data(summary, session, errors, word));
}

std::string page_of(const EvalSummary& summary) { return to_page(page_data(summary)); }

std::string page_of(const SweepSummary& summary) { return to_page(page_data(summary)); }

}  // namespace isthmus
