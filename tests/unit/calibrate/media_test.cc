// Samples from images, sound, raw files and programs.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/bytes.h"
#include "calibrate/media_folder.h"
#include "calibrate/samples.h"
#include "formats/npy.h"
#include "ir/text.h"
#include "media/image.h"
#include "session/labels.h"
#include "support/calls.h"
#include "support/files.h"

namespace isthmus::media_test {
namespace {

namespace fs = std::filesystem;
using test::numbers;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Graph graph_of(const std::string& lines) {
  auto graph = parse_graph("graph\n" + lines + "\n  return\n");
  CHECK(graph.has_value(), graph ? "" : graph.error().text());
  return *std::move(graph);
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A PNG with this one colour.
std::string png_of(int width, int height, std::vector<std::uint8_t> colour) {
  Image image = blank_image(width, height, static_cast<int>(colour.size()));
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = colour[i % colour.size()];
  return text_of(encode_png(image));
}

// 16 bits at 8,000 samples a second; the numbers of all channels side by side.
std::string wav_of(std::uint16_t channels, const std::vector<std::int16_t>& numbers) {
  const auto little = [](std::uint32_t number, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>((number >> (8 * i)) & 0xFF);
    return text;
  };
  std::string data;
  for (const std::int16_t number : numbers) data += little(static_cast<std::uint16_t>(number), 2);
  const auto size = static_cast<std::uint32_t>(data.size());
  return "RIFF" + little(36 + size, 4) + "WAVEfmt " + little(16, 4) + little(1, 2) + little(channels, 2) +
         little(8000, 4) + little(8000U * channels * 2, 4) + little(channels * 2U, 2) + little(16, 2) + "data" +
         little(size, 4) + data;
}

class MediaTest : public test::FolderTest {
 protected:
  Expected<std::vector<Tensor>> read(const std::string& path, const Graph& graph, const SampleOptions& options = {}) {
    auto samples = TRY(open_samples(path, graph, options, diagnostics_));
    std::vector<Tensor> all;
    while (auto sample = TRY(samples->next())) all.push_back(sample->at(0));
    EXPECT_EQ(samples->count(), all.size());
    return all;
  }
  std::string problem(const std::string& path, const std::string& input, const SampleOptions& options = {}) {
    const auto all = read(path, graph_of(input), options);
    return all ? "" : all.error().text();
  }

  Diagnostics diagnostics_;
};

using SamplesOfImages = MediaTest;
using SamplesOfSound = MediaTest;
using SamplesOfRawFiles = MediaTest;
using Labels = MediaTest;

TEST_F(SamplesOfImages, StepsAreThoseOfTorchvision) {
  write("a.png", png_of(2, 2, {255, 51, 0}));
  const SampleOptions options{.media = {.mean = {0.5F, 0.2F, 0.F}, .stddev = {0.5F}}};
  const auto nchw = read(folder_, graph_of("  input %x : f32[1,3,2,2]"), options);
  ASSERT_TRUE(nchw) << nchw.error().text();
  EXPECT_THAT(nchw->at(0).sizes(), ElementsAre(1, 3, 2, 2));
  const float green = (51.F / 255.F - 0.2F) / 0.5F;
  EXPECT_THAT(numbers<float>(nchw->at(0)), ElementsAre(1, 1, 1, 1, green, green, green, green, 0, 0, 0, 0));
  const auto nhwc = read(folder_, graph_of("  input %x : f32[1,2,2,3]"), options);
  ASSERT_TRUE(nhwc) << nhwc.error().text();
  EXPECT_THAT(numbers<float>(nhwc->at(0)), ElementsAre(1, green, 0, 1, green, 0, 1, green, 0, 1, green, 0));
}

TEST_F(SamplesOfImages, PixelsAreUnscaledForIntegersAndWhite255) {
  write("a.png", png_of(1, 1, {7, 8, 9}));
  const auto bytes = read(folder_, graph_of("  input %x : u8[1,1,1,3]"), {.media = {.layout = ImageLayout::kNhwc}});
  ASSERT_TRUE(bytes) << bytes.error().text();
  EXPECT_THAT(numbers<std::uint8_t>(bytes->at(0)), ElementsAre(7, 8, 9));
  const auto floats = read(folder_, graph_of("  input %x : f32[1,3,1,1]"), {.media = {.white = 255}});
  ASSERT_TRUE(floats) << floats.error().text();
  EXPECT_THAT(numbers<float>(floats->at(0)), ElementsAre(7, 8, 9));
  EXPECT_THAT(problem(folder_, "  input %x : u8[1,3,1,1]", {.media = {.mean = {1}}}), HasSubstr("remove --mean"));
}

TEST_F(SamplesOfImages, ResizeTakesTheShorterSideAndCropTheMiddle) {
  write("a.png", png_of(40, 20, {10, 20, 30}));
  const SampleOptions options{.media = {.shorter_side = 10, .crop = PixelSize{8, 8}}};
  const auto all = read(folder_, graph_of("  input %x : f32[1,3,8,8]"), options);
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_THAT(all->at(0).sizes(), ElementsAre(1, 3, 8, 8));
  EXPECT_THAT(problem(folder_, "  input %x : f32[1,3,8,8]"), HasSubstr("give --resize or --crop"));
}

TEST_F(SamplesOfImages, BatchOfTheModelTakesSeveralImages) {
  for (const char* name : {"a.png", "b.png", "c.png"}) write(name, png_of(1, 1, {255}));
  const auto all = read(folder_, graph_of("  input %x : f32[2,1,1,1]"));
  ASSERT_TRUE(all) << all.error().text();
  ASSERT_THAT(*all, SizeIs(1));
  EXPECT_THAT(all->at(0).sizes(), ElementsAre(2, 1, 1, 1));
  ASSERT_THAT(diagnostics_.entries(), SizeIs(1));
  EXPECT_THAT(diagnostics_.entries()[0].text, HasSubstr("the last 1 are not used"));
}

TEST_F(SamplesOfImages, FewOfManyAreSpreadOverAllClasses) {
  for (const std::string name : {"cat", "dog", "owl"}) {
    for (const std::string file : {"1.png", "2.png"}) write(name + "/" + file, png_of(1, 1, {0}));
  }
  const auto folder = list_media(folder_, 3);
  ASSERT_TRUE(folder) << folder.error().text();
  EXPECT_THAT(folder->classes, ElementsAre("cat", "dog", "owl"));
  EXPECT_THAT(folder->labels, ElementsAre(0, 1, 2));
}

TEST_F(SamplesOfImages, WrongFoldersAndModelsAreRefused) {
  EXPECT_THAT(problem(folder_, "  input %x : f32[1,3,1,1]"), HasSubstr("no samples in this folder"));
  write("a.png", "not a png");
  EXPECT_THAT(problem(folder_, "  input %x : f32[1,3,1,1]"), HasSubstr("neither a JPEG nor a PNG image\n  in "));
  EXPECT_THAT(problem(folder_, "  input %x : f32[1,5]"), HasSubstr("images need [N,C,H,W] or [N,H,W,C]"));
  EXPECT_THAT(problem(folder_, "  input %x : f32[1,3,1,1]\n  input %y : f32[1]"), HasSubstr("the model has 2 inputs"));
  write("a.wav", wav_of(1, {0}));
  EXPECT_THAT(problem(folder_, "  input %x : f32[1,3,1,1]"), HasSubstr("mixed kinds of samples"));
}

TEST_F(SamplesOfSound, LengthIsCutOrFilledWithSilence) {
  write("a.wav", wav_of(1, {16384, -16384, 8192}));
  const auto cut = read(folder_, graph_of("  input %x : f32[1,2]"));
  ASSERT_TRUE(cut) << cut.error().text();
  EXPECT_THAT(numbers<float>(cut->at(0)), ElementsAre(0.5F, -0.5F));
  const auto filled = read(folder_, graph_of("  input %x : f32[1,1,5]"));
  ASSERT_TRUE(filled) << filled.error().text();
  EXPECT_THAT(numbers<float>(filled->at(0)), ElementsAre(0.5F, -0.5F, 0.25F, 0, 0));
}

TEST_F(SamplesOfSound, ChannelsAreMixedOrKept) {
  write("a.wav", wav_of(2, {16384, 0, 0, 16384}));
  const auto mixed = read(folder_, graph_of("  input %x : f32[1,2]"));
  ASSERT_TRUE(mixed) << mixed.error().text();
  EXPECT_THAT(numbers<float>(mixed->at(0)), ElementsAre(0.25F, 0.25F));
  const auto kept = read(folder_, graph_of("  input %x : f32[1,2,2]"));
  ASSERT_TRUE(kept) << kept.error().text();
  EXPECT_THAT(numbers<float>(kept->at(0)), ElementsAre(0.5F, 0, 0, 0.5F));
  EXPECT_THAT(problem(folder_, "  input %x : f32[1,3,2]"), HasSubstr("2 channels"));
  EXPECT_THAT(problem(folder_, "  input %x : f32[1,2]", {.media = {.sample_rate = 16000}}), HasSubstr("resample"));
}

TEST_F(SamplesOfRawFiles, BytesAreTheInput) {
  const std::string path = write("a.bin", std::string("\1\2\3\4", 4));
  const auto all = read(path, graph_of("  input %x : u8[1,2,2]"));
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_THAT(numbers<std::uint8_t>(all->at(0)), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(problem(path, "  input %x : f32[1,2]"), HasSubstr("4 bytes, but a sample of input x is f32[1,2] has 8"));
}

class SamplesOfCommands : public MediaTest {
 protected:
  // A command that writes these arrays.
  std::string command_of(const std::vector<Tensor>& arrays, const std::string& more = {}) {
    std::string bytes;
    for (const Tensor& array : arrays) bytes += text_of(*write_npy(array.view()));
    return "cmd:sh -c 'cat " + write("arrays", bytes) + more + "'";
  }
};

TEST_F(SamplesOfCommands, ArraysInTurnAreTheInputs) {
  const std::string command = command_of(
      {test::floats({2}, {1, 2}), test::floats({1}, {3}), test::floats({2}, {4, 5}), test::floats({1}, {6})});
  const Graph graph = graph_of("  input %x : f32[1,2]\n  input %y : f32[1,1]");
  auto samples = open_samples(command, graph, {}, diagnostics_);
  ASSERT_TRUE(samples) << samples.error().text();
  EXPECT_EQ((*samples)->count(), 2);
  ASSERT_TRUE((*samples)->next()->has_value());
  const auto second = (*samples)->next();
  ASSERT_TRUE(second && second->has_value());
  EXPECT_THAT(numbers<float>((**second)[0]), ElementsAre(4, 5));
  EXPECT_THAT(numbers<float>((**second)[1]), ElementsAre(6));
}

TEST_F(SamplesOfCommands, OneRunServesAllOpenings) {
  const std::string count = (folder_ / "runs").string();
  const std::string command = command_of({test::floats({1}, {1}), test::floats({1}, {2})}, "; echo >>" + count);
  const SampleOptions options{.output = std::make_shared<CommandOutput>()};
  for (int i = 0; i < 3; ++i) EXPECT_THAT(*read(command, graph_of("  input %x : f32[1,1]"), options), SizeIs(2));
  EXPECT_EQ(fs::file_size(count), 1);
}

TEST_F(SamplesOfCommands, EndlessCommandIsStoppedAfterEnough) {
  const std::string array = write("array", text_of(*write_npy(test::floats({1}, {1}).view())));
  const std::string command = "cmd:sh -c 'while cat " + array + "; do :; done'";
  EXPECT_THAT(*read(command, graph_of("  input %x : f32[1,1]"), {.limit = 5}), SizeIs(5));
}

TEST_F(SamplesOfCommands, FailuresNameTheCommand) {
  const std::string input = "  input %x : f32[1,1]";
  EXPECT_THAT(problem("cmd:no-such-program", input), HasSubstr("program no-such-program not found"));
  EXPECT_THAT(problem("cmd:", input), HasSubstr("missing program"));
  EXPECT_THAT(problem("cmd:sh 'x", input), HasSubstr("missing closing quote '"));
  EXPECT_THAT(problem("cmd:true", input), HasSubstr("wrote no array"));
  EXPECT_THAT(problem("cmd:echo hello world and more", input), HasSubstr("array 0 of its output"));
  EXPECT_THAT(problem(command_of({test::floats({1}, {1})}, "; exit 3"), input), HasSubstr("exit code 3"));
  EXPECT_THAT(problem(command_of({test::floats({2}, {1, 2})}), input), HasSubstr("sample 0 of cmd:"));
}

TEST_F(Labels, FilesOfLabelsGoByOrderOrByName) {
  for (const char* name : {"a.png", "b.png", "c.png"}) write("in/" + std::string(name), png_of(1, 1, {0}));
  DataOptions data;
  data.path = (folder_ / "in").string();
  data.labels_file = write("labels", "4\n5\n6\n");
  EXPECT_THAT(*labels_of(data, diagnostics_), ElementsAre(4, 5, 6));
  data.labels_file = write("named", "c.png, 1\nb.png 2\r\na.png\t3\n");
  EXPECT_THAT(*labels_of(data, diagnostics_), ElementsAre(3, 2, 1));
  data.labels_file = write("few", "1\n2\n");
  EXPECT_THAT(labels_of(data, diagnostics_).error().text(), HasSubstr("2 classes for 3 files"));
  data.labels_file = write("wrong", "cat\n");
  EXPECT_THAT(labels_of(data, diagnostics_).error().text(), HasSubstr("line 1"));
  data.labels_file = write("missing", "a.png 1\n");
  EXPECT_THAT(labels_of(data, diagnostics_).error().text(), HasSubstr("no class for "));
}

TEST_F(Labels, NamesOfFoldersAreClassesInTheirOrder) {
  write("in/dog/1.png", png_of(1, 1, {0}));
  write("in/cat/1.png", png_of(1, 1, {0}));
  DataOptions data;
  data.path = (folder_ / "in").string();
  EXPECT_THAT(*labels_of(data, diagnostics_), ElementsAre(0, 1));
  EXPECT_THAT(diagnostics_.entries(), IsEmpty());
}

}  // namespace
}  // namespace isthmus::media_test
