// Images against what Pillow 9.4 made of the same files.
#include "media/image.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/bytes.h"
#include "support/models.h"

namespace isthmus::image_test {
namespace {

using testing::HasSubstr;

std::string path_of(const std::string& name) {
  return (test::source_dir() / "tests/models/images/pattern" / name).string();
}

Blob file_of(const std::string& name) {
  auto file = map_file(path_of(name));
  CHECK(file.has_value(), "the file is part of the project");
  return *file;
}

Image image_of(const std::string& name) {
  auto image = decode_image(file_of(name).bytes());
  EXPECT_TRUE(image) << name << ": " << (image ? "" : image.error().text());
  return image ? *std::move(image) : Image{};
}

std::string problem_of(std::span<const std::byte> bytes) {
  const auto image = decode_image(bytes);
  return image ? "" : image.error().text();
}

TEST(Image, JpegDecodesAsInPillow) { EXPECT_EQ(image_of("pattern.jpg"), image_of("pattern_jpg.png")); }

TEST(Image, PaletteBecomesRgb) { EXPECT_EQ(image_of("palette.png"), image_of("palette_rgb.png")); }

TEST(Image, LumaIsThatOfPillow) { EXPECT_EQ(with_channels(image_of("pattern.png"), 1), image_of("pattern_gray.png")); }

TEST(Image, GrayIsRepeatedForRgb) {
  Image gray = blank_image(2, 1, 1);
  gray.pixels = {7, 200};
  EXPECT_THAT(with_channels(gray, 3).pixels, testing::ElementsAre(7, 7, 7, 200, 200, 200));
}

TEST(Image, ResizingGivesTheBytesOfPillow) {
  const Image image = image_of("pattern.png");
  for (const auto& [width, height] : {std::pair{17, 29}, {100, 77}, {61, 20}, {5, 43}}) {
    const std::string name = "pattern_" + std::to_string(width) + "x" + std::to_string(height) + ".png";
    EXPECT_EQ(resize_bilinear(image, width, height), image_of(name)) << name;
  }
}

TEST(Image, SameSizeKeepsEachByte) {
  const Image image = image_of("pattern.png");
  EXPECT_EQ(resize_bilinear(image, image.width, image.height), image);
}

TEST(Image, CropKeepsTheMiddleAndPadsWithBlack) {
  Image image = blank_image(4, 1, 1);
  image.pixels = {1, 2, 3, 4};
  EXPECT_THAT(crop_middle(image, 2, 1).pixels, testing::ElementsAre(2, 3));
  EXPECT_THAT(crop_middle(image, 6, 1).pixels, testing::ElementsAre(0, 1, 2, 3, 4, 0));
  // Half of three rounds to two, as in Python.
  EXPECT_THAT(crop_middle(image, 1, 1).pixels, testing::ElementsAre(3));
}

TEST(Image, WrittenPngReadsBack) {
  for (const Image& image : {image_of("pattern.png"), image_of("pattern_gray.png")}) {
    const auto again = decode_image(encode_png(image));
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, image);
  }
}

// Each beginning of a file, and each with one bit turned, gives an image or an error.
TEST(Image, DamagedFilesAreRefusedOrRead) {
  for (const std::string name : {"pattern.jpg", "pattern_5x43.png"}) {
    const Blob file = file_of(name);
    EXPECT_THAT(problem_of(file.bytes().first(file.size() / 2)), HasSubstr("damaged")) << name;
    for (std::size_t size = 0; size < file.size(); size += 7) {
      EXPECT_NE(problem_of(file.bytes().first(size)), "") << name << " of " << size << " bytes";
    }
    std::vector<std::byte> bytes(file.bytes().begin(), file.bytes().end());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::byte before = bytes[i];
      bytes[i] ^= std::byte{1} << (i % 8);
      static_cast<void>(decode_image(bytes));
      bytes[i] = before;
    }
  }
  EXPECT_THAT(problem_of({}), HasSubstr("neither a JPEG nor a PNG"));
}

TEST(Image, HugeSizesAreRefusedBeforeMemoryIsTaken) {
  const Blob file = file_of("pattern.png");
  std::vector<std::byte> bytes(file.bytes().begin(), file.bytes().end());
  // Width of the IHDR chunk; its checksum is wrong now, or the size is refused: either way an error.
  bytes[16] = std::byte{0x7F};
  EXPECT_NE(problem_of(bytes), "");
  const Blob jpeg = file_of("pattern.jpg");
  std::vector<std::byte> large(jpeg.bytes().begin(), jpeg.bytes().end());
  const std::byte start_of_frame[] = {std::byte{0xFF}, std::byte{0xC0}};
  const auto frame = std::ranges::search(large, start_of_frame).begin();
  ASSERT_NE(frame, large.end());
  std::fill_n(frame + 5, 4, std::byte{0xFE});  // height and width
  EXPECT_THAT(problem_of(large), HasSubstr("at most"));
}

}  // namespace
}  // namespace isthmus::image_test
