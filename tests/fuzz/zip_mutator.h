// Mutations that respect the zip around the data: bytes or JSON of one entry change, and the archive is put together
// anew.
// Without them nearly every inserted or removed byte would end at the directory's checks.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/zip.h"
#include "fuzz/json_mutator.h"

// libFuzzer's own mutations. Weak, since the program that only replays inputs has none.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max);

namespace isthmus::fuzz {

using NamedBytes = std::pair<std::string, std::string>;

template <class Unsigned>
void put(std::string& out, Unsigned value) {
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i) out += static_cast<char>(std::uint64_t{value} >> (8 * i));
}

inline std::string stored_zip(const std::vector<NamedBytes>& entries) {
  std::string out, directory;
  for (const auto& [name, bytes] : entries) {
    const auto offset = static_cast<std::uint32_t>(out.size());
    const auto size = static_cast<std::uint32_t>(bytes.size());
    put<std::uint32_t>(out, 0x04034b50);
    out.append(22, '\0');
    put<std::uint32_t>(out, static_cast<std::uint16_t>(name.size()));
    out += name + bytes;
    put<std::uint32_t>(directory, 0x02014b50);
    directory.append(12, '\0');
    put<std::uint32_t>(
        directory, static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size())));
    put<std::uint32_t>(directory, size);
    put<std::uint32_t>(directory, size);
    put<std::uint32_t>(directory, static_cast<std::uint16_t>(name.size()));
    directory.append(10, '\0');
    put<std::uint32_t>(directory, offset);
    directory += name;
  }
  const auto directory_offset = static_cast<std::uint32_t>(out.size());
  out += directory;
  put<std::uint32_t>(out, 0x06054b50);
  put<std::uint32_t>(out, 0);
  put<std::uint16_t>(out, static_cast<std::uint16_t>(entries.size()));
  put<std::uint16_t>(out, static_cast<std::uint16_t>(entries.size()));
  put<std::uint32_t>(out, static_cast<std::uint32_t>(directory.size()));
  put<std::uint32_t>(out, directory_offset);
  put<std::uint16_t>(out, 0);
  return out;
}

inline std::string mutated(std::string bytes, std::size_t max) {
  const std::size_t size = bytes.size();
  bytes.resize(std::max(max, size));
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, bytes.size()));
  return bytes;
}

// Entries that are zips themselves are changed in the same way. Empty if `zip` cannot be read.
inline std::string mutated_zip(std::string_view zip, std::size_t max, std::minstd_rand& random) {
  const Blob blob(std::as_bytes(std::span(zip)), nullptr);
  auto opened = Zip::open(blob);
  if (!opened || opened->entries().empty()) return {};
  const std::size_t chosen = random() % opened->entries().size();
  std::vector<NamedBytes> entries;
  for (const ZipEntry& entry : opened->entries()) {
    const auto bytes = opened->read(entry);
    entries.emplace_back(entry.name, bytes ? std::string(bytes->text()) : std::string());
  }
  auto& [name, bytes] = entries[chosen];
  const std::size_t room = max > zip.size() ? max - zip.size() : 0;
  switch (random() % 32) {
    case 0:
      name = mutated(name, name.size() + 8);
      break;
    case 1:
      entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(chosen));
      break;
    default: {
      std::string nested;
      if (bytes.starts_with("PK")) nested = mutated_zip(bytes, bytes.size() + room, random);
      if (bytes.starts_with("{") && random() % 2 == 0) nested = JsonMutator(random).mutated(bytes);
      bytes = nested.empty() ? mutated(bytes, bytes.size() + room) : std::move(nested);
    }
  }
  return stored_zip(entries);
}

// The body of LLVMFuzzerCustomMutator: half of the mutations know of the zip.
inline std::size_t mutate(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  std::minstd_rand random(seed);
  if (random() % 2 == 0) {
    const std::string out = mutated_zip({reinterpret_cast<const char*>(data), size}, max, random);
    if (!out.empty() && out.size() <= max) {
      std::memcpy(data, out.data(), out.size());
      return out.size();
    }
  }
  return LLVMFuzzerMutate(data, size, max);
}

}  // namespace isthmus::fuzz
