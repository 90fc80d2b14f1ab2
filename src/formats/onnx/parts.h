// What the readers of ONNX's messages share.
#pragma once

#include <fmt/format.h>

// A field of another kind than expected is a damaged file, not a mistake of ours: the reader must not abort.
#define protozero_assert(condition) ((condition) ? void() : throw protozero::unknown_pbf_wire_type_exception())
// clang-format off
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
// clang-format on
#include <string>
#include <vector>

#include "base/untrusted_text.h"
#include "formats/onnx/onnx.h"

namespace isthmus::onnx {

// A file of a model in which everything has an owner: the mapping.
struct Source {
  const Blob& file;
  const ExternalFiles& external;
  std::size_t items = 0;  // messages read so far
};

// A hostile file must not become much more than it was: each message of it becomes a struct of ours.
inline constexpr std::size_t kMaxItems = std::size_t{1} << 21;
inline Expected<void> count_item(Source& source) {
  if (++source.items <= kMaxItems) return {};
  return bad_input(fmt::format("the file has more than {} parts", kMaxItems));
}

inline std::string text_of(protozero::data_view view) { return {view.data(), view.size()}; }

// Repeated numbers come packed or one by one.
inline void append_integers(protozero::pbf_reader& message, std::vector<std::int64_t>& numbers) {
  if (message.wire_type() != protozero::pbf_wire_type::length_delimited) {
    numbers.push_back(message.get_int64());
    return;
  }
  for (const std::int64_t number : message.get_packed_int64()) numbers.push_back(number);
}

// May throw protozero's exceptions, as all readers behind `read_model` do; that catches them.
Expected<Tensor> read_tensor(protozero::pbf_reader message, Source& source);

}  // namespace isthmus::onnx
