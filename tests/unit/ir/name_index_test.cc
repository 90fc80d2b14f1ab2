// Names are found among many, also after others were removed.
#include "ir/name_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace isthmus::name_index_test {
namespace {

TEST(NameIndex, IsAMapOfNames) {
  std::mt19937 random(1);
  std::vector<std::string> names;  // by id
  std::map<std::string, std::uint32_t> expected;
  NameIndex index;
  const auto find = [&](const std::string& name) {
    return index.find(name, [&](ValueId id) -> std::string_view { return names[id.index]; });
  };
  EXPECT_FALSE(find("v1"));
  for (int round = 0; round < 20'000; ++round) {
    const std::string name = "v" + std::to_string(random() % 2000);
    const auto known = expected.find(name);
    const auto found = find(name);
    ASSERT_EQ(found.has_value(), known != expected.end()) << name;
    if (known == expected.end()) {
      const ValueId id{static_cast<std::uint32_t>(names.size())};
      names.push_back(name);
      index.add(name, id);
      expected[name] = id.index;
    } else {
      ASSERT_EQ(found->index, known->second);
      if (random() % 2 == 0) {
        index.remove(name, *found);
        expected.erase(known);
      }
    }
    if (round == 5000) index.reserve(10'000);
  }
  NameIndex copy = index;
  for (const auto& [name, id] : expected) {
    const auto found = copy.find(name, [&](ValueId value) -> std::string_view { return names[value.index]; });
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->index, id);
  }
}

}  // namespace
}  // namespace isthmus::name_index_test
