// Archives of torch.export.save: the three generations of the container, real files, and broken ones.
#include "formats/torch/pt2.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "formats/npz.h"
#include "formats/zip.h"
#include "support/models.h"
#include "support/zip_builder.h"

namespace isthmus::pt2::pt2_test {
namespace {

namespace fs = std::filesystem;
using test::blob_of;
using test::build_zip;
using test::ZipItem;
using testing::ElementsAre;
using testing::HasSubstr;

const fs::path kModels = test::source_dir() / "tests" / "models";

Blob mapped(const fs::path& path) {
  auto file = map_file(path.string());
  EXPECT_TRUE(file) << file.error().text();
  return file ? *file : Blob();
}

Archive read(const Blob& file) {
  auto archive = read_archive(file);
  EXPECT_TRUE(archive) << archive.error().text();
  return archive ? *std::move(archive) : Archive();
}

std::string problem(const std::string& zip) {
  const auto archive = read_archive(blob_of(zip));
  return archive ? "" : archive.error().text();
}

std::string elements(const TensorView& tensor) { return std::string(contiguous_bytes(tensor).text()); }

bool lies_in(const TensorView& tensor, const Blob& file) {
  return tensor.storage.size() == 0 || (tensor.storage.bytes().data() >= file.bytes().data() &&
                                        tensor.storage.bytes().data() < file.bytes().data() + file.size());
}

// The entries of an archive, to change them and pack them again.
std::vector<ZipItem> unpacked(const Blob& file) {
  auto zip = Zip::open(file);
  EXPECT_TRUE(zip);
  std::vector<ZipItem> items;
  for (const ZipEntry& entry : zip->entries())
    items.push_back({.name = entry.name, .data = std::string(zip->read(entry)->text())});
  return items;
}

void expect_same_tensors(const std::map<std::string, TensorView, std::less<>>& a,
                         const std::map<std::string, TensorView, std::less<>>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    ASSERT_TRUE(b.contains(name)) << name;
    EXPECT_EQ(tensor.dtype, b.at(name).dtype);
    EXPECT_EQ(tensor.sizes, b.at(name).sizes);
    EXPECT_EQ(elements(tensor), elements(b.at(name))) << name;
  }
}

// As odd_weights.npz has them: bf16 widened to f32.
std::string widened(const TensorView& tensor) {
  const std::string bytes = elements(tensor);
  if (tensor.dtype != DType::kBF16) return bytes;
  std::string wide;
  for (std::size_t i = 0; i < bytes.size(); i += 2) wide += std::string(2, '\0') + bytes.substr(i, 2);
  return wide;
}

TEST(Pt2, ReadsEveryTensorOfTheOddModel) {
  const Blob file = mapped(kModels / "probes" / "odd.pt2");
  const Archive archive = read(file);
  EXPECT_EQ(archive.layout, "pt2 archive, raw weights");
  EXPECT_EQ(archive.entries.size(), 33u);
  EXPECT_EQ(archive.weights.size(), 21u);
  EXPECT_EQ(archive.constants.size(), 4u);
  auto expected = Npz::open(mapped(kModels / "probes" / "odd_weights.npz"));
  ASSERT_TRUE(expected);
  ASSERT_EQ(expected->arrays().size(), archive.weights.size() + archive.constants.size());
  for (const NpzArray& array : expected->arrays()) {
    const auto& tensors = archive.weights.contains(array.name) ? archive.weights : archive.constants;
    ASSERT_TRUE(tensors.contains(array.name)) << array.name;
    const TensorView& tensor = tensors.at(array.name);
    EXPECT_EQ(tensor.sizes, array.shape);
    EXPECT_EQ(widened(tensor), elements(*expected->read(array))) << array.name;
    EXPECT_TRUE(lies_in(tensor, file)) << array.name;
  }
  EXPECT_THAT(archive.weights.at("wt").strides, ElementsAre(1, 4));
}

TEST(Pt2, ReadsTheProgramOfTheOddModel) {
  const Program program = read(mapped(kModels / "probes" / "odd.pt2")).program;
  EXPECT_EQ(program.schema_major, 8);
  EXPECT_EQ(program.schema_minor, 20);
  EXPECT_THAT(program.forward_arg_names, ElementsAre("x", "idx", "scale"));
  EXPECT_EQ(program.inputs.size(), 28u);
  EXPECT_EQ(program.outputs.size(), 13u);
  EXPECT_EQ(program.inputs.back().kind, InputKind::kScalarConstant);
  ASSERT_EQ(program.ranges.size(), 1u);
  EXPECT_EQ(program.ranges[0].second.max, 16);
  EXPECT_FALSE(program.nodes.at(0).metadata.at("stack_trace").empty());
}

TEST(Pt2, ReadsExampleInputs) {
  const Archive archive = read(mapped(kModels / "probes" / "odd.pt2"));
  EXPECT_EQ(archive.examples_problem, "");
  ASSERT_EQ(archive.examples.size(), 3u);
  EXPECT_THAT(std::get<TensorView>(archive.examples[0]).sizes, ElementsAre(3, 6));
  EXPECT_EQ(std::get<TensorView>(archive.examples[1]).dtype, DType::kI64);
  EXPECT_EQ(std::get<double>(archive.examples[2]), 1.5);
}

TEST(Pt2, ReadsTheFlatContainer) {
  const Blob file = mapped(kModels / "torch26" / "emg_cascade.pt2");
  const Archive flat = read(file);
  EXPECT_EQ(flat.layout, "torch 2.6 flat");
  EXPECT_EQ(flat.program.schema_minor, 2);
  for (const auto& [name, tensor] : flat.weights) EXPECT_TRUE(lies_in(tensor, file)) << name;
  // The same model, saved by two versions of torch.
  const Archive raw = read(mapped(kModels / "emg_cascade.pt2"));
  ASSERT_EQ(raw.weights.size(), flat.weights.size());
  for (const auto& [name, tensor] : raw.weights) {
    ASSERT_TRUE(flat.weights.contains(name)) << name;
    EXPECT_EQ(tensor.sizes, flat.weights.at(name).sizes);
  }
  EXPECT_EQ(raw.examples.size(), 2u);
  EXPECT_EQ(flat.examples.size(), 2u);
}

TEST(Pt2, ReadsThePackageWithPickledWeights) {
  const Blob file = mapped(kModels / "torch26" / "conv_batch_norm.pt2");
  const std::map<std::string, std::string> names{{"serialized_exported_program.json", "m/models/model.json"},
                                                 {"serialized_state_dict.pt", "m/data/weights/model.pt"},
                                                 {"serialized_constants.pt", "m/data/constants/model.pt"},
                                                 {"serialized_example_inputs.pt", "m/data/sample_inputs/model.pt"},
                                                 {"version", "m/extra/version"}};
  std::vector<ZipItem> items = unpacked(file);
  for (ZipItem& item : items) item.name = names.at(item.name);
  items.push_back({.name = "m/archive_format", .data = "pt2"});
  const Archive pickled = read(blob_of(build_zip(items)));
  EXPECT_EQ(pickled.layout, "pt2 archive, pickled weights");
  const Archive flat = read(file);
  EXPECT_GT(flat.weights.size(), 0u);
  expect_same_tensors(pickled.weights, flat.weights);
  EXPECT_EQ(pickled.examples.size(), flat.examples.size());
}

TEST(Pt2, ReadsArchivesThatWerePackedAgain) {
  for (const char* name : {"probes/odd.pt2", "torch26/emg_cascade.pt2", "torch26/sdpa_bool_mask.pt2"}) {
    const Blob file = mapped(kModels / name);
    const Archive original = read(file);
    std::vector<ZipItem> items = unpacked(file);
    std::reverse(items.begin(), items.end());
    for (const bool is_deflated : {false, true}) {
      for (ZipItem& item : items) item.is_deflated = is_deflated;
      // A byte in front puts every storage on an odd address.
      items[0].local_extra = "x";
      const Archive again = read(blob_of(build_zip(items)));
      expect_same_tensors(original.weights, again.weights);
      expect_same_tensors(original.constants, again.constants);
      EXPECT_EQ(again.examples_problem, "");
      EXPECT_EQ(original.program.nodes.size(), again.program.nodes.size());
    }
  }
}

// The pages of a large weight cannot be read at all while the archive is opened.
TEST(Pt2, OpeningTouchesNoWeights) {
  std::vector<ZipItem> items = unpacked(mapped(kModels / "ops" / "linear.pt2"));
  const auto weight = std::ranges::find(items, "linear/data/weights/weight_0", &ZipItem::name);
  ASSERT_NE(weight, items.end());
  weight->data.resize(1 << 20);
  const std::string zip = build_zip(items);
  void* const memory = ::mmap(nullptr, zip.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memcpy(memory, zip.data(), zip.size());
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t first = (zip.find(weight->data) + page - 1) / page * page;
  const std::size_t size = (weight->data.size() / page - 1) * page;
  ASSERT_EQ(::mprotect(static_cast<char*>(memory) + first, size, PROT_NONE), 0);
  {
    const Blob file(std::span(static_cast<const std::byte*>(memory), zip.size()), nullptr);
    EXPECT_EQ(read(file).weights.size(), 2u);
    EXPECT_TRUE(looks_like_archive(file));
  }
  ::munmap(memory, zip.size());
}

TEST(Pt2, WeightsOutliveTheArchive) {
  TensorView kept;
  {
    const Archive archive = read(mapped(kModels / "ops" / "linear.pt2"));
    ASSERT_FALSE(archive.weights.empty());
    kept = archive.weights.begin()->second;
  }
  EXPECT_EQ(elements(kept).size(), static_cast<std::size_t>(kept.element_count()) * size_of(kept.dtype));
}

TEST(Pt2, ReadsSubgraphs) {
  const Program program = read(mapped(kModels / "probes" / "cond.pt2")).program;
  ASSERT_EQ(program.nodes.size(), 3u);
  EXPECT_EQ(program.nodes[2].target, "torch.ops.higher_order.cond");
  const auto& branch = *std::get<std::shared_ptr<const Subgraph>>(program.nodes[2].inputs.at(1).value);
  EXPECT_EQ(branch.name, "true_graph_0");
  ASSERT_EQ(branch.nodes.size(), 1u);
  EXPECT_EQ(branch.nodes[0].target, "torch.ops.aten.add.Tensor");
  EXPECT_EQ(std::get<TensorRef>(branch.inputs.at(0)).name, "x");
  EXPECT_EQ(std::get<TensorRef>(branch.outputs.at(0)).name, "add");
  EXPECT_TRUE(branch.tensors.contains("add"));
}

TEST(Pt2, TellsItsArchivesFromOtherFiles) {
  EXPECT_TRUE(looks_like_archive(mapped(kModels / "emg_cascade.pt2")));
  EXPECT_TRUE(looks_like_archive(mapped(kModels / "torch26" / "emg_cascade.pt2")));
  EXPECT_FALSE(looks_like_archive(mapped(kModels / "probes" / "odd_io.npz")));
  EXPECT_FALSE(looks_like_archive(mapped(kModels / "README.md")));
  EXPECT_FALSE(looks_like_archive(Blob()));
}

// A small archive of the newest generation, to break it in one place.
class Package {
 public:
  Package() : items_(unpacked(mapped(kModels / "ops" / "linear.pt2"))) {
    root_ = items_[0].name.substr(0, items_[0].name.find('/'));
  }
  std::string& operator[](const std::string& name) {
    for (ZipItem& item : items_) {
      if (item.name == root_ + "/" + name) return item.data;
    }
    return items_.emplace_back(ZipItem{.name = root_ + "/" + name}).data;
  }
  void remove(const std::string& name) {
    std::erase_if(items_, [&](const ZipItem& item) { return item.name == root_ + "/" + name; });
  }
  void replace(const std::string& name, const std::string& from, const std::string& to) {
    std::string& data = (*this)[name];
    const std::size_t at = data.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    data.replace(at, from.size(), to);
  }
  std::string zip() const { return build_zip(items_); }

 private:
  std::vector<ZipItem> items_;
  std::string root_;
};

const std::string kWeights = "data/weights/model_weights_config.json";

TEST(Pt2, ErrorsNameEntryAndTensor) {
  EXPECT_EQ(problem(Package().zip()), "");
  Package broken_json;
  broken_json["models/model.json"].pop_back();
  EXPECT_THAT(problem(broken_json.zip()), HasSubstr("not valid JSON at byte"));
  EXPECT_THAT(problem(broken_json.zip()), HasSubstr("in entry \"linear/models/model.json\""));
  Package missing;
  missing.remove("data/weights/weight_0");
  EXPECT_THAT(problem(missing.zip()), HasSubstr("its entry \"linear/data/weights/weight_0\" is missing"));
  EXPECT_THAT(problem(missing.zip()), HasSubstr("in tensor \""));
  EXPECT_THAT(problem(missing.zip()), HasSubstr("in entry \"linear/data/weights/model_weights_config.json\""));
  Package cut;
  cut["data/weights/weight_0"].resize(3);
  EXPECT_THAT(problem(cut.zip()), HasSubstr("past the end of its storage"));
  Package empty;
  empty["data/weights/weight_0"].clear();
  EXPECT_THAT(problem(empty.zip()), HasSubstr("is empty: the model was exported without its weights"));
}

TEST(Pt2, RefusesTensorsItCannotRead) {
  Package pickled, sparse, symbolic, unknown, negative;
  pickled.replace(kWeights, "\"use_pickle\": false", "\"use_pickle\": true");
  EXPECT_THAT(problem(pickled.zip()), HasSubstr("a pickled object"));
  sparse.replace(kWeights, "\"layout\": 7", "\"layout\": 1");
  EXPECT_THAT(problem(sparse.zip()), HasSubstr("sparse"));
  symbolic.replace(kWeights, "{\"as_int\": ", "{\"as_name\": \"s\"}, {\"as_int\": ");
  EXPECT_THAT(problem(symbolic.zip()), HasSubstr("must be numbers"));
  unknown.replace(kWeights, "\"dtype\": 7", "\"dtype\": 0");
  EXPECT_THAT(problem(unknown.zip()), HasSubstr("the number of a known element type, got 0"));
  negative.replace(kWeights, "\"storage_offset\": {\"as_int\": 0", "\"storage_offset\": {\"as_int\": -1");
  EXPECT_THAT(problem(negative.zip()), HasSubstr("the offset is negative"));
}

TEST(Pt2, RefusesBigEndianArchives) {
  Package package;
  package["byteorder"] = "big";
  EXPECT_THAT(problem(package.zip()), HasSubstr("byteorder\" says \"big\"; only little-endian archives are supported"));
}

TEST(Pt2, BrokenExamplesDoNotMatter) {
  Package package;
  package["data/sample_inputs/model.pt"] = "junk";
  const Archive archive = read(blob_of(package.zip()));
  EXPECT_TRUE(archive.examples.empty());
  EXPECT_THAT(archive.examples_problem, HasSubstr("not a zip archive"));
  EXPECT_THAT(archive.examples_problem, HasSubstr("sample_inputs/model.pt"));
  package.remove("data/sample_inputs/model.pt");
  EXPECT_EQ(read(blob_of(package.zip())).examples_problem, "");
}

TEST(Pt2, TakesTheModelOfAPackage) {
  Package package;
  const std::string json = package["models/model.json"];
  package["models/encoder.json"] = json;
  EXPECT_EQ(problem(package.zip()), "");
  package.remove("models/model.json");
  EXPECT_EQ(read(blob_of(package.zip())).program.nodes.size(), 1u);
  package["models/decoder.json"] = json;
  EXPECT_THAT(problem(package.zip()),
              HasSubstr("several programs, but none is named \"model\": \"encoder\", \"decoder\""));
  package.remove("models/encoder.json");
  package.remove("models/decoder.json");
  EXPECT_THAT(problem(package.zip()), HasSubstr("has no exported program"));
}

TEST(Pt2, SaysWhatOtherZipsAre) {
  EXPECT_THAT(problem(build_zip({{.name = "x", .data = "y"}})), HasSubstr("not of torch.export.save"));
  EXPECT_THAT(problem(build_zip({{.name = "archive/data.pkl"}})), HasSubstr("a file of torch.save or torch.jit.save"));
  EXPECT_THAT(problem(build_zip({{.name = "m/archive_format", .data = "zip"}})), HasSubstr("\"pt2\" is expected"));
  EXPECT_THAT(problem(""), HasSubstr("not a zip archive"));
}

TEST(Pt2, EveryTruncationIsNoticed) {
  for (const char* name : {"ops/linear.pt2", "torch26/linear.pt2"}) {
    const Blob file = mapped(kModels / name);
    for (std::size_t size = 0; size < file.size(); size += 7)
      EXPECT_FALSE(read_archive(*file.part(0, size))) << name << size;
  }
}

// Every model of the developers' collection, where it is at hand.
TEST(Pt2, ReadsTheWholeCollection) {
  const fs::path shared = test::shared_dir();
  if (!fs::exists(shared)) GTEST_SKIP() << "no collection of models beside the project";
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(shared)) {
    if (entry.path().extension() != ".pt2") continue;
    const auto archive = read_archive(mapped(entry.path()));
    ++count;
    ASSERT_TRUE(archive) << entry.path() << ": " << archive.error().text();
    EXPECT_EQ(archive->examples_problem, "") << entry.path();
    EXPECT_FALSE(archive->examples.empty()) << entry.path();
  }
  EXPECT_GE(count, 700u);
}

}  // namespace
}  // namespace isthmus::pt2::pt2_test
