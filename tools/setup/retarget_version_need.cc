// retarget_version_need FILE LIBRARY VERSION
//
// Makes the shared library FILE ask LIBRARY for the oldest glibc version that FILE names anywhere, where it asks for
// VERSION. The symbols bound to VERSION then resolve to their first form, which every later glibc keeps.
// Changes bytes in place and nothing else; does nothing where FILE does not ask for VERSION.
#include <elf.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace {

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "retarget_version_need: %s\n", message.c_str());
  std::exit(1);
}

struct File {
  std::vector<char> bytes;

  // A structure of the file at an offset; offsets come from the file and are checked.
  template <class T>
  T& at(std::uint64_t offset) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T) || offset % alignof(T) != 0)
      fail("malformed ELF file");
    return *reinterpret_cast<T*>(bytes.data() + offset);
  }
  std::string_view string(std::uint64_t offset) {
    if (offset >= bytes.size()) fail("malformed ELF file");
    const char* begin = bytes.data() + offset;
    return {begin, strnlen(begin, bytes.size() - offset)};
  }
};

// {major, minor, patch} of "GLIBC_2.2.5" as one number; 0 for other names.
std::uint64_t glibc_version(std::string_view name) {
  unsigned major = 0, minor = 0, patch = 0;
  if (std::sscanf(std::string(name).c_str(), "GLIBC_%u.%u.%u", &major, &minor, &patch) < 2) return 0;
  return std::uint64_t{major} << 40 | std::uint64_t{minor} << 20 | patch;
}

template <class Visit>  // visit(library name, Elf64_Vernaux&) for each version that the file needs
void for_each_need(File& file, std::uint64_t needs, std::uint64_t strings, Visit visit) {
  for (std::uint64_t offset = needs;;) {
    auto& need = file.at<Elf64_Verneed>(offset);
    std::uint64_t aux_offset = offset + need.vn_aux;
    for (unsigned i = 0; i < need.vn_cnt; ++i) {
      auto& aux = file.at<Elf64_Vernaux>(aux_offset);
      visit(file.string(strings + need.vn_file), aux);
      aux_offset += aux.vna_next;
    }
    if (need.vn_next == 0) return;
    offset += need.vn_next;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) fail("usage: retarget_version_need FILE LIBRARY VERSION");
  const std::string_view library = argv[2], version = argv[3];

  File file;
  {
    std::ifstream stream(argv[1], std::ios::binary);
    if (!stream) fail(std::string("cannot read ") + argv[1]);
    file.bytes.assign(std::istreambuf_iterator<char>(stream), {});
  }
  const auto& header = file.at<Elf64_Ehdr>(0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    fail(std::string(argv[1]) + " is not a 64-bit ELF file");
  }

  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto section = file.at<Elf64_Shdr>(header.e_shoff + std::uint64_t{i} * header.e_shentsize);
    if (section.sh_type != SHT_GNU_verneed) continue;
    const auto strings =
        file.at<Elf64_Shdr>(header.e_shoff + std::uint64_t{section.sh_link} * header.e_shentsize).sh_offset;

    Elf64_Vernaux oldest{};
    std::uint64_t oldest_version = UINT64_MAX;
    for_each_need(file, section.sh_offset, strings, [&](std::string_view, const Elf64_Vernaux& aux) {
      const std::uint64_t found = glibc_version(file.string(strings + aux.vna_name));
      if (found != 0 && found < oldest_version) {
        oldest = aux;
        oldest_version = found;
      }
    });
    for_each_need(file, section.sh_offset, strings, [&](std::string_view from, Elf64_Vernaux& aux) {
      if (from != library || file.string(strings + aux.vna_name) != version) return;
      aux.vna_hash = oldest.vna_hash;
      aux.vna_name = oldest.vna_name;
      const std::string_view to = file.string(strings + aux.vna_name);
      std::printf("%s: %s -> %.*s\n", argv[2], argv[3], static_cast<int>(to.size()), to.data());
    });
  }

  std::ofstream stream(argv[1], std::ios::binary);
  stream.write(file.bytes.data(), static_cast<std::streamsize>(file.bytes.size()));
  if (!stream.flush()) fail(std::string("cannot write ") + argv[1]);
  return 0;
}
