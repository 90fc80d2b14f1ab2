// What every reader of a flatbuffer from an untrusted file needs: verification, and a bound on what is copied out.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"

namespace isthmus {

// The same bytes at an address that suits every vector of a flatbuffer: a copy only where they lie elsewhere.
inline Blob aligned_for_flatbuffer(const Blob& bytes) {
  constexpr std::size_t kAlignment = 16;
  if (bytes.size() == 0 || reinterpret_cast<std::uintptr_t>(bytes.bytes().data()) % kAlignment == 0) return bytes;
  void* memory = ::operator new (bytes.size(), std::align_val_t{kAlignment});
  std::memcpy(memory, bytes.bytes().data(), bytes.size());
  std::shared_ptr<const void> owner(
      memory, [](const void* start) { ::operator delete (const_cast<void*>(start), std::align_val_t{kAlignment}); });
  return Blob({static_cast<const std::byte*>(memory), bytes.size()}, std::move(owner));
}

// The root table if every offset of the buffer holds, else null.
template <class Root>
const Root* verified_root(const Blob& bytes, const char* identifier) {
  constexpr flatbuffers::uoffset_t kMaxDepth = 16;
  if (bytes.size() < 8 || bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) return nullptr;
  // Tables may be shared, and a few shared ones can unfold to billions. Honest ones take 8 bytes each.
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 4);
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.bytes().data());
  flatbuffers::Verifier verifier(data, bytes.size(), kMaxDepth, max_tables);
  if (!verifier.VerifyBuffer<Root>(identifier)) return nullptr;
  return flatbuffers::GetRoot<Root>(data);
}

// Copies vectors and strings, as long as the sum of it stays in proportion to the file.
class FlatbufferCopier {
 public:
  explicit FlatbufferCopier(std::size_t file_bytes) : left_(file_bytes * 16 + 4096) {}

  Expected<void> take(std::uint64_t bytes) {
    if (bytes > left_) return bad_input("its tables refer to the same data too often");
    left_ -= bytes;
    return {};
  }
  // Absent ones are empty.
  Expected<std::string> text(const flatbuffers::String* text) {
    if (text == nullptr) return std::string();
    TRY(take(text->size()));
    return text->str();
  }
  template <class To, class From>
  Expected<std::vector<To>> numbers(const flatbuffers::Vector<From>* numbers) {
    if (numbers == nullptr) return std::vector<To>();
    TRY(take(numbers->size() * sizeof(To)));
    std::vector<To> result;
    result.reserve(numbers->size());
    // The verifier sees to the alignment of a vector's count, but not to that of wider elements.
    for (std::size_t i = 0; i < numbers->size(); ++i) {
      From number{};
      std::memcpy(&number, numbers->Data() + i * sizeof(From), sizeof(From));
      result.push_back(static_cast<To>(number));
    }
    return result;
  }

 private:
  std::uint64_t left_;
};

// The elements of a vector of tables; an absent vector has none.
template <class Table>
std::vector<const Table*> tables_of(const flatbuffers::Vector<flatbuffers::Offset<Table>>* vector) {
  if (vector == nullptr) return {};
  return {vector->begin(), vector->end()};
}

}  // namespace isthmus
