// The few functions of base/ that need a body of their own.
#include <cstdio>
#include <cstdlib>

#include "base/check.h"
#include "base/expected.h"

namespace isthmus {

Error::Error(ErrorKind error_kind, std::string text) : kind(error_kind), message(std::move(text)) {}
Error::Error(const Error&) = default;
Error::Error(Error&&) noexcept = default;
Error& Error::operator=(const Error&) = default;
Error& Error::operator=(Error&&) noexcept = default;
Error::~Error() = default;

tl::unexpected<Error> fail(ErrorKind kind, std::string message) {
  return tl::unexpected<Error>(Error(kind, std::move(message)));
}
tl::unexpected<Error> bad_input(std::string message) { return fail(ErrorKind::kBadInput, std::move(message)); }

std::string Error::text() const {
  std::string text = message;
  for (const std::string& place : places) text += "\n  in " + place;
  return text;
}

void check_failed(const char* condition, const char* file, int line, std::string_view what) {
  std::fprintf(stderr, "isthmus: internal error at %s:%d: %s does not hold: %.*s\n", file, line, condition,
               static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace isthmus
