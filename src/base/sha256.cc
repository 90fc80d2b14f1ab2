// SHA-256 by the system's crypto library.
#include "base/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "base/check.h"

namespace isthmus {

std::string sha256_hex(std::span<const std::byte> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const int done = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  CHECK(done == 1 && size == 32, "the crypto library has no SHA-256");
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

}  // namespace isthmus
