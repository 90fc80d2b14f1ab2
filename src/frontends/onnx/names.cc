// Names and origins: what messages and the text form call the values of an ONNX file.
#include <algorithm>

#include "base/untrusted_text.h"
#include "frontends/onnx/loader.h"
#include "ir/literals.h"

namespace isthmus::onnx {
namespace {

constexpr std::size_t kMaxName = 200;

bool is_plain(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
         letter == '_' || letter == '.';
}

// `File "a/b/net.py", line 251, in forward`, outermost first; the last line outside of torch.
std::string line_of_trace(std::string_view trace) {
  constexpr std::string_view kFile = "File \"";
  constexpr std::string_view kLine = "\", line ";
  std::string found;
  for (std::size_t at = trace.find(kFile); at != std::string_view::npos; at = trace.find(kFile, at)) {
    at += kFile.size();
    const std::size_t end = trace.find(kLine, at);
    if (end == std::string_view::npos) break;
    const std::string_view path = trace.substr(at, end - at);
    const std::string_view rest = trace.substr(end + kLine.size());
    const std::string_view number = rest.substr(0, std::min(rest.find_first_not_of("0123456789"), rest.size()));
    if (path.find("/torch/") != std::string_view::npos && !found.empty()) continue;
    const std::size_t slash = path.rfind('/');
    found = std::string(slash == std::string_view::npos ? path : path.substr(slash + 1)) + ":" + std::string(number);
  }
  return found;
}

// "/encoder/layers.0/attn/MatMul_1" -> "encoder.layers.0.attn"
std::string module_of_name(std::string_view name) {
  if (!name.starts_with('/')) return {};
  const std::size_t last = name.rfind('/');
  if (last == 0) return {};
  std::string module(name.substr(1, last - 1));
  std::ranges::replace(module, '/', '.');
  return module;
}

// "['', 'layers.0', 'layers.0.attn', 'matmul']": the scope before the operator itself.
std::string module_of_scopes(std::string_view scopes) {
  std::vector<std::string_view> parts;
  for (std::size_t at = scopes.find('\''); at != std::string_view::npos;) {
    const std::size_t end = scopes.find('\'', at + 1);
    if (end == std::string_view::npos) break;
    parts.push_back(scopes.substr(at + 1, end - at - 1));
    at = scopes.find('\'', end + 1);
  }
  return parts.size() < 2 ? std::string() : std::string(parts[parts.size() - 2]);
}

}  // namespace

std::string value_name(std::string_view name) {
  std::string result;
  for (const char letter : name.substr(0, kMaxName)) {
    if (is_plain(letter)) {
      result.push_back(letter);
    } else if (!result.empty() && result.back() != '_') {
      result.push_back('_');
    }
  }
  while (!result.empty() && result.back() == '_') result.pop_back();
  return result.empty() ? "value" : result;
}

std::string symbol_name(std::string_view name) {
  std::string result = value_name(name);
  std::ranges::replace(result, '.', '_');
  return is_symbol_name(result) && !is_reserved_word(result) ? result : "size_" + result;
}

Origin origin_of(const Node& node) {
  Origin origin;
  const auto entry = [&](const char* key) -> std::string_view {
    const auto found = node.metadata.find(key);
    return found == node.metadata.end() ? std::string_view() : found->second;
  };
  origin.source = line_of_trace(entry("pkg.torch.onnx.stack_trace"));
  origin.module = module_of_scopes(entry("pkg.torch.onnx.name_scopes"));
  if (origin.module.empty()) origin.module = module_of_name(node.name);
  if (origin.source.empty() && origin.module.empty()) origin.module = node.name;
  origin.call = node.op_type;
  for (std::string* part : {&origin.source, &origin.call, &origin.module}) {
    if (part->size() > kMaxName) part->resize(kMaxName);
    *part = harmless(*part);
    std::ranges::replace(*part, '\n', ' ');
  }
  return origin;
}

std::string node_place(const Node& node) {
  std::string place = "node " + shown(node.name.empty() ? (node.outputs.empty() ? "" : node.outputs[0]) : node.name);
  place += " (" + harmless(node.domain.empty() ? node.op_type : node.domain + "." + node.op_type);
  if (const std::string line = origin_of(node).source; !line.empty()) place += ", " + line;
  return place + ")";
}

}  // namespace isthmus::onnx
