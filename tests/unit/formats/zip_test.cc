// The zip reader: honest archives, and every way an archive can lie.
#include "formats/zip.h"

#include <gmock/gmock.h>

#include <cstring>

#include "support/zip_builder.h"

namespace isthmus::zip_test {
namespace {

using test::blob_of;
using test::build_zip;
using test::ZipItem;
using testing::HasSubstr;

// The text of the entry, or "error: ..." from whichever step refused it.
std::string read(const std::string& zip, std::string_view name) {
  auto opened = Zip::open(blob_of(zip));
  if (!opened) return "error: " + opened.error().text();
  const ZipEntry* entry = opened->find(name);
  if (entry == nullptr) return "error: no such entry";
  const auto bytes = opened->read(*entry);
  return bytes ? std::string(bytes->text()) : "error: " + bytes.error().text();
}

TEST(Zip, FindsStoredEntriesInPlace) {
  const Blob file = blob_of(build_zip({{.name = "a/x", .data = "hello"}, {.name = "b", .data = ""}}));
  auto zip = Zip::open(file);
  ASSERT_TRUE(zip) << zip.error().text();
  ASSERT_EQ(zip->entries().size(), 2u);
  const auto bytes = zip->read(*zip->find("a/x"));
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->text(), "hello");
  EXPECT_GT(bytes->bytes().data(), file.bytes().data());
  EXPECT_LT(bytes->bytes().data(), file.bytes().data() + file.size());
  EXPECT_EQ(zip->read(*zip->find("b"))->size(), 0u);
  EXPECT_EQ(zip->find("a"), nullptr);
  EXPECT_EQ(zip->find("c"), nullptr);
}

TEST(Zip, EntriesOutliveTheReader) {
  Blob bytes;
  {
    auto zip = Zip::open(blob_of(build_zip({{.name = "x", .data = "kept"}})));
    ASSERT_TRUE(zip);
    bytes = *zip->read(zip->entries().front());
  }
  EXPECT_EQ(bytes.text(), "kept");
}

TEST(Zip, InflatesOnceAndKeepsIt) {
  const std::string text(100000, 'a');
  auto zip = Zip::open(blob_of(build_zip({{.name = "x", .data = text, .is_deflated = true}})));
  ASSERT_TRUE(zip);
  EXPECT_TRUE(zip->entries().front().is_compressed);
  const auto first = zip->read(zip->entries().front()), second = zip->read(zip->entries().front());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->text(), text);
  EXPECT_EQ(first->bytes().data(), second->bytes().data());
}

TEST(Zip, ReadsTheFormsThatWritersUse) {
  const std::vector<ZipItem> items{{.name = "x", .data = "one", .local_extra = std::string(30, 'Z')},
                                   {.name = "y", .data = "two", .is_deflated = true},
                                   {.name = "empty", .data = "", .is_deflated = true}};
  std::vector<ZipItem> zip64_items = items;
  for (ZipItem& item : zip64_items) item.has_zip64 = true;
  for (const std::string& zip : {build_zip(items), build_zip(items, {.has_zip64 = true}), build_zip(zip64_items),
                                 build_zip(items, {.comment = "PK\5\6 is not a record"})}) {
    EXPECT_EQ(read(zip, "x"), "one");
    EXPECT_EQ(read(zip, "y"), "two");
    EXPECT_EQ(read(zip, "empty"), "");
  }
  EXPECT_EQ(Zip::open(blob_of(build_zip({})))->entries().size(), 0u);
}

TEST(Zip, RefusesWhatItDoesNotRead) {
  EXPECT_THAT(read("", "x"), HasSubstr("not a zip archive"));
  EXPECT_THAT(read("PK\5\6", "x"), HasSubstr("not a zip archive"));
  EXPECT_THAT(read(build_zip({{.name = "x", .flags = 1}}), "x"), HasSubstr("\"x\": it is encrypted"));
  EXPECT_THAT(read(build_zip({{.name = "x", .method = 93}}), "x"), HasSubstr("method 93 is not supported"));
  EXPECT_THAT(read(build_zip({{.name = "x"}, {.name = "x"}}), "x"), HasSubstr("\"x\" occurs twice"));
  EXPECT_THAT(read(build_zip({{.name = ""}}), ""), HasSubstr("a name of 0 bytes"));
  EXPECT_THAT(read(build_zip({{.name = std::string(5000, 'x')}}), "x"), HasSubstr("a name of 5000 bytes"));
  EXPECT_THAT(read(build_zip({{.name = "\xC3"}}), "x"), HasSubstr("not UTF-8"));
  EXPECT_THAT(read(build_zip({{.name = std::string("a\0b", 3)}}), "x"), HasSubstr("not UTF-8"));
}

TEST(Zip, RefusesSizesThatContradictEachOther) {
  EXPECT_THAT(read(build_zip({{.name = "x", .data = "abc", .size = 4}}), "x"), HasSubstr("its sizes differ: 3 and 4"));
  EXPECT_THAT(read(build_zip({{.name = "x", .data = "abc", .size = 400, .packed_size = 400}}), "x"),
              HasSubstr("overlap"));
  const ZipItem deflated{.name = "x", .data = std::string(1000, 'x'), .is_deflated = true};
  ZipItem more = deflated, less = deflated, absurd = deflated, wrong = deflated, short_data = deflated;
  more.size = 1001;
  less.size = 999;
  absurd.size = 1u << 30;
  wrong.crc32 = 1;
  short_data.packed_size = 3;
  EXPECT_EQ(read(build_zip({deflated}), "x"), deflated.data);
  EXPECT_THAT(read(build_zip({more}), "x"), HasSubstr("less than its directory says"));
  EXPECT_THAT(read(build_zip({less}), "x"), HasSubstr("more bytes than its directory says"));
  EXPECT_THAT(read(build_zip({absurd}), "x"), HasSubstr("cannot expand to 1073741824"));
  EXPECT_THAT(read(build_zip({wrong}), "x"), HasSubstr("checksum"));
  EXPECT_THAT(read(build_zip({short_data}), "x"), HasSubstr("damaged"));
  EXPECT_THAT(read(build_zip({{.name = "x", .data = "no deflate", .method = 8}}), "x"), HasSubstr("damaged"));
}

TEST(Zip, RefusesEntriesThatOverlap) {
  EXPECT_THAT(read(build_zip({{.name = "x", .data = "abc"}, {.name = "y", .header_offset = 0}}), "x"),
              HasSubstr("overlap"));
  EXPECT_THAT(read(build_zip({{.name = "x", .data = "abc", .header_offset = 1}}), "x"), HasSubstr("overlap"));
  EXPECT_THAT(read(build_zip({{.name = "x", .header_offset = 0xFFFFFFF0}}), "x"), HasSubstr("overlap"));
  EXPECT_THAT(read(build_zip({{.name = "x", .data = "abc", .local_name = "y"}}), "x"), HasSubstr("no local header"));
  // The local header shifts the data into the next entry.
  std::string zip = build_zip({{.name = "x", .data = "abc"}, {.name = "y"}});
  zip[28] = 20;
  EXPECT_THAT(read(zip, "x"), HasSubstr("overlap"));
}

TEST(Zip, RefusesDirectoriesThatDoNotAddUp) {
  const std::vector<ZipItem> items{{.name = "x", .data = "abc"}};
  EXPECT_THAT(read(build_zip(items, {.entry_count = 0}), "x"), HasSubstr("extra bytes after its 0 entries"));
  EXPECT_THAT(read(build_zip(items, {.entry_count = 9}), "x"), HasSubstr("9 entries cannot be"));
  EXPECT_THAT(read(build_zip(items, {.directory_size = 46}), "x"), HasSubstr("reaches past"));
  EXPECT_THAT(read(build_zip(items, {.directory_size = 1u << 30}), "x"), HasSubstr("does not fit"));
  EXPECT_THAT(read(build_zip(items, {.directory_offset = 0}), "x"), HasSubstr("expected a header"));
  EXPECT_THAT(read(build_zip(items, {.has_zip64 = true, .zip64_entry_count = 2}), "x"), HasSubstr("contradict"));
  EXPECT_THAT(read(build_zip(items, {.has_zip64 = true, .entry_count = 0xFFFF, .zip64_entry_count = 1ull << 60}), "x"),
              HasSubstr("cannot be"));
}

TEST(Zip, BoundsWhatAFileMayInflateTo) {
  const std::string zeros(4 << 20, '\0');
  const Blob bomb = blob_of(build_zip(
      {{.name = "a", .data = zeros, .is_deflated = true}, {.name = "b", .data = zeros, .is_deflated = true}}));
  // Nested archives share the budget of the outermost file, so all but 6 MiB of it may be gone already.
  const auto budget = std::make_shared<InflateBudget>(0);
  ASSERT_TRUE(budget->take(std::uint64_t{250} << 20));
  auto zip = Zip::open(bomb, budget);
  ASSERT_TRUE(zip);
  EXPECT_TRUE(zip->read(*zip->find("a")));
  EXPECT_TRUE(zip->read(*zip->find("a")));
  const auto refused = zip->read(*zip->find("b"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(),
              HasSubstr("exceed the 268435456 that this file may inflate to (256 MiB + 64 times"));
  EXPECT_FALSE(InflateBudget(100).take((256 << 20) + 6401));
  EXPECT_TRUE(InflateBudget(100).take((256 << 20) + 6400));
  EXPECT_TRUE(InflateBudget(~std::uint64_t{0}).take(std::uint64_t{1} << 60));
}

TEST(Zip, StreamsInPiecesAndStartsOver) {
  std::string text;
  for (int i = 0; i < 50000; ++i) text += std::to_string(i) + ",";
  for (const bool is_deflated : {false, true}) {
    auto zip = Zip::open(blob_of(build_zip({{.name = "x", .data = text, .is_deflated = is_deflated}})));
    ASSERT_TRUE(zip);
    auto stream = zip->stream(zip->entries().front());
    ASSERT_TRUE(stream);
    for (int round = 0; round < 2; ++round) {
      std::vector<std::byte> piece(7919);
      ASSERT_TRUE(stream->skip(123));
      for (std::size_t at = 123; stream->left() > 0; at += piece.size()) {
        piece.resize(std::min<std::size_t>(piece.size(), stream->left()));
        ASSERT_TRUE(stream->read(piece));
        ASSERT_EQ(std::memcmp(piece.data(), text.data() + at, piece.size()), 0);
      }
      EXPECT_FALSE(stream->read(piece));
      EXPECT_FALSE(stream->skip(1));
      stream->rewind();
    }
  }
}

TEST(Zip, TruncationIsAlwaysNoticed) {
  const std::string zip = build_zip(
      {{.name = "x", .data = "abc"}, {.name = "y", .data = "abcabcabc", .is_deflated = true}}, {.has_zip64 = true});
  for (std::size_t size = 0; size < zip.size(); ++size) EXPECT_FALSE(Zip::open(blob_of(zip.substr(0, size)))) << size;
}

TEST(Zip, ByteChangesNeverCrash) {
  const std::string zip = build_zip(
      {{.name = "x", .data = "abc", .has_zip64 = true}, {.name = "y", .data = "abcabcabc", .is_deflated = true}},
      {.has_zip64 = true, .comment = "c"});
  for (std::size_t at = 0; at < zip.size(); ++at) {
    for (const int value : {0, 1, 0x7F, 0x80, 0xFF}) {
      std::string changed = zip;
      changed[at] = static_cast<char>(value);
      auto opened = Zip::open(blob_of(changed));
      if (!opened) continue;
      for (const ZipEntry& entry : opened->entries()) (void)opened->read(entry);
    }
  }
}

}  // namespace
}  // namespace isthmus::zip_test
