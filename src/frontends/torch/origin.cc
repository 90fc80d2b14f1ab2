// Reads stack traces and module stacks.
#include "frontends/torch/origin.h"

#include <algorithm>
#include <string_view>

namespace isthmus {
namespace {

constexpr std::size_t kMaxBytes = 256;

bool is_inside_torch(std::string_view path) {
  return path.starts_with("torch/") || path.find("/torch/") != std::string_view::npos;
}

// `File "a/b/networks.py", line 251, in forward` lines, outermost first.
SourceLine user_line(std::string_view trace) {
  constexpr std::string_view kFile = "File \"";
  constexpr std::string_view kLine = "\", line ";
  SourceLine last;
  SourceLine last_of_user;
  for (std::size_t at = trace.find(kFile); at != std::string_view::npos; at = trace.find(kFile, at)) {
    at += kFile.size();
    const std::size_t end = trace.find(kLine, at);
    if (end == std::string_view::npos) break;
    const std::string_view path = trace.substr(at, end - at);
    const std::string_view rest = trace.substr(end + kLine.size());
    const std::string_view number = rest.substr(0, std::min(rest.find_first_not_of("0123456789"), rest.size()));
    last = {std::string(path), std::string(number)};
    if (!is_inside_torch(path)) last_of_user = last;
  }
  return last_of_user.path.empty() ? last : last_of_user;
}

std::string_view entry_of(const std::map<std::string, std::string>& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::string_view() : found->second;
}

// "concat_1;builtin_function_or_method.concat" -> "concat"
std::string called_function(std::string_view torch_fn) {
  const std::size_t dot = torch_fn.rfind('.');
  return std::string(dot == std::string_view::npos ? std::string_view() : torch_fn.substr(dot + 1));
}

// "key,attribute.path,Class;key,attribute.path,Class", outermost first.
std::string innermost_module(std::string_view stack) {
  const std::size_t semicolon = stack.rfind(';');
  if (semicolon != std::string_view::npos) stack.remove_prefix(semicolon + 1);
  const std::size_t first = stack.find(',');
  const std::size_t second = first == std::string_view::npos ? first : stack.find(',', first + 1);
  if (second == std::string_view::npos) return {};
  return std::string(stack.substr(first + 1, second - first - 1));
}

}  // namespace

std::string SourceLine::text() const {
  const std::size_t slash = path.rfind('/');
  const std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
  return path.empty() ? "" : file + ":" + number;
}

SourceLine source_line_of(const std::map<std::string, std::string>& metadata) {
  return user_line(entry_of(metadata, "stack_trace"));
}

Origin origin_of(const std::map<std::string, std::string>& metadata) {
  Origin origin{source_line_of(metadata).text(), called_function(entry_of(metadata, "torch_fn")),
                innermost_module(entry_of(metadata, "nn_module_stack"))};
  for (std::string* part : {&origin.source, &origin.call, &origin.module}) {
    if (part->size() > kMaxBytes) part->resize(kMaxBytes);
  }
  return origin;
}

}  // namespace isthmus
