// Results of operations that can fail because of bad input or the environment.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace isthmus {

enum class ErrorKind : std::uint8_t {
  kBadInput,     // a file or an argument that is not what it should be
  kEnvironment,  // a file that cannot be opened, a full disk
  kUnsupported,  // well-formed input that asks for something Isthmus refuses to do
};

// One failure: what went wrong, and the places it went through, innermost first.
struct Error {
  ErrorKind kind = ErrorKind::kBadInput;
  std::string message;
  std::vector<std::string> places;

  Error(ErrorKind error_kind, std::string text);
  // Out of line: every TRY would repeat their bodies, which costs a third of the time of a build with sanitizers.
  Error(const Error&);
  Error(Error&&) noexcept;
  Error& operator=(const Error&);
  Error& operator=(Error&&) noexcept;
  ~Error();

  // "message\n  in inner place\n  in outer place"
  std::string text() const;
};

template <class T>
using Expected = tl::expected<T, Error>;

tl::unexpected<Error> fail(ErrorKind kind, std::string message);
tl::unexpected<Error> bad_input(std::string message);

// The same result; a failure gains one place, which is made only then.
template <class T, std::invocable Place>
Expected<T> within(Expected<T> result, Place place) {
  if (!result) result.error().places.push_back(place());
  return result;
}
template <class T>
Expected<T> within(Expected<T> result, std::string place) {
  if (!result) result.error().places.push_back(std::move(place));
  return result;
}

namespace detail {
template <class T>
T unwrap(Expected<T>&& result) {
  return *std::move(result);
}
inline void unwrap(Expected<void>&&) {}
}  // namespace detail

}  // namespace isthmus

#define ISTHMUS_CONCAT_(a, b) a##b
#define ISTHMUS_TRY_(name, expression)                                           \
  (__extension__({                                                               \
    auto name = (expression);                                                    \
    if (!name) return tl::unexpected<::isthmus::Error>(std::move(name).error()); \
    ::isthmus::detail::unwrap(std::move(name));                                  \
  }))
#define ISTHMUS_TRY_COUNTED_(counter, expression) ISTHMUS_TRY_(ISTHMUS_CONCAT_(try_result_, counter), expression)
// The value of an Expected, or a return of its error from the enclosing function.
#define TRY(expression) ISTHMUS_TRY_COUNTED_(__COUNTER__, (expression))
