// SHA-256 by the system's crypto library.
#include "base/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <new>

#include "base/check.h"

namespace isthmus {
namespace {

using Digest = std::array<unsigned char, 32>;

Digest sha256(std::span<const std::byte> bytes) {
  Digest digest{};
  unsigned int size = 0;
  const int done = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  if (done != 1) throw std::bad_alloc();  // it takes memory for its state
  CHECK(size == digest.size(), "the crypto library has another SHA-256");
  return digest;
}

}  // namespace

std::string sha256_hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const unsigned char byte : sha256(bytes)) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string sha256_base64(std::span<const std::byte> bytes) {
  const Digest digest = sha256(bytes);
  std::array<unsigned char, 45> text{};  // 44 letters and a zero
  const int size = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(digest.size()));
  return {text.begin(), text.begin() + size};
}

}  // namespace isthmus
