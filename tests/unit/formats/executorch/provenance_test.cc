// Where a program comes from is written and read back.
#include "formats/executorch/provenance.h"

#include <gtest/gtest.h>

namespace isthmus::provenance_test {
namespace {

pte::Program program_with(pte::NamedData data) {
  pte::Program program;
  program.named_data.push_back(std::move(data));
  return program;
}

TEST(Provenance, IsReadBack) {
  const pte::Provenance written{{{"tool", "isthmus 1"}, {"shape", "x=1,3"}}, "activations = \"int16\"\n[[rule]]\n"};
  EXPECT_EQ(find_provenance(program_with(named(written))), written);
  const pte::Provenance bare{{{"tool", "isthmus 1"}}, ""};
  EXPECT_EQ(find_provenance(program_with(named(bare))), bare);
}

TEST(Provenance, IsNothingInFilesOfOthers) {
  EXPECT_EQ(find_provenance(pte::Program()), std::nullopt);
  EXPECT_EQ(find_provenance(program_with({"other", {}})), std::nullopt);
}

TEST(Provenance, TakesAnyBytes) {
  pte::NamedData data = named(pte::Provenance());
  data.bytes = Blob::owning({std::byte{'a'}, std::byte{'\n'}, std::byte{0}, std::byte{'='}});
  EXPECT_TRUE(find_provenance(program_with(data))->facts.empty());
}

}  // namespace
}  // namespace isthmus::provenance_test
