// Reads files of torch.save and makes views of the tensors in them.
#include "formats/torch/torch_save.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/untrusted_text.h"
#include "formats/torch/pickle.h"

namespace isthmus {
namespace {

class SavedFile {
 public:
  static Expected<SavedFile> open(const Blob& file, std::shared_ptr<InflateBudget> budget) {
    SavedFile saved(TRY(Zip::open(file, std::move(budget))));
    constexpr std::string_view kPickle = "/data.pkl";
    const auto& entries = saved.zip_.entries();
    const auto pickle = std::ranges::find_if(entries, [&](const ZipEntry& e) { return e.name.ends_with(kPickle); });
    if (pickle == entries.end()) return bad_input("not a file of torch.save: it has no entry data.pkl");
    saved.folder_ = pickle->name.substr(0, pickle->name.size() - kPickle.size() + 1);
    if (const ZipEntry* order = saved.zip_.find(saved.folder_ + "byteorder")) {
      if (TRY(saved.zip_.read(*order)).text() != "little") {
        return fail(ErrorKind::kUnsupported, "its byteorder is not \"little\"");
      }
    }
    saved.bytes_ = TRY(saved.zip_.read(*pickle));
    saved.heap_ = TRY(pickle::Heap::read(saved.bytes_.bytes()));
    return saved;
  }

  pickle::Value root() const { return heap_.root(); }

  Expected<TensorView> view(const pickle::Tensor& tensor) {
    const std::string name = folder_ + "data/" + std::string(tensor.storage_key);
    const ZipEntry* entry = zip_.find(name);
    if (entry == nullptr) return bad_input(fmt::format("its storage, entry {}, is missing", shown(name)));
    if (entry->size < tensor.storage_bytes) {
      return bad_input(fmt::format("its storage, entry {}, has {} bytes; the pickle says {}", shown(name), entry->size,
                                   tensor.storage_bytes));
    }
    return make_tensor_view(tensor.dtype, TRY(integers(tensor.sizes)), TRY(integers(tensor.strides)), tensor.offset,
                            TRY(zip_.read(*entry)));
  }

 private:
  explicit SavedFile(Zip zip) : zip_(std::move(zip)) {}

  static Expected<std::vector<std::int64_t>> integers(pickle::Value tuple) {
    constexpr std::size_t kMaxAxes = 64;
    if (tuple.item_count() > kMaxAxes) {
      return bad_input(
          fmt::format("a tensor of {} dimensions; at most {} are supported", tuple.item_count(), kMaxAxes));
    }
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < tuple.item_count(); ++i) {
      if (tuple.item(i).kind() != pickle::Kind::kInteger) return bad_input("sizes and strides must be integers");
      numbers.push_back(tuple.item(i).as_integer());
    }
    return numbers;
  }

  Zip zip_;
  std::string folder_;  // with its slash
  Blob bytes_;          // the heap's texts point here
  pickle::Heap heap_;
};

}  // namespace

Expected<std::map<std::string, TensorView, std::less<>>> read_saved_tensors(const Blob& file,
                                                                            std::shared_ptr<InflateBudget> budget) {
  SavedFile saved = TRY(SavedFile::open(file, std::move(budget)));
  const pickle::Value root = saved.root();
  if (root.kind() != pickle::Kind::kDict) return bad_input("expected a dict of tensors");
  std::map<std::string, TensorView, std::less<>> tensors;
  for (std::size_t i = 0; i < root.item_count(); i += 2) {
    const pickle::Value key = root.item(i), value = root.item(i + 1);
    if (key.kind() != pickle::Kind::kText) return bad_input("expected a string as the key of each tensor");
    const std::string name(key.as_text());
    if (value.kind() != pickle::Kind::kTensor) {
      return fail(ErrorKind::kUnsupported, fmt::format("{} is not a tensor", shown(name)));
    }
    const auto place = [&] { return fmt::format("tensor {}", shown(name)); };
    TensorView view = TRY(within(saved.view(value.as_tensor()), place));
    if (!tensors.emplace(name, std::move(view)).second) {
      return bad_input(fmt::format("tensor {} occurs twice", shown(name)));
    }
  }
  return tensors;
}

Expected<std::vector<pt2::ExampleLeaf>> read_saved_leaves(const Blob& file, std::shared_ptr<InflateBudget> budget) {
  SavedFile saved = TRY(SavedFile::open(file, std::move(budget)));
  std::vector<pt2::ExampleLeaf> leaves;
  std::vector<pickle::Value> waiting{saved.root()};
  // Shared and cyclic values could make the walk endless.
  constexpr std::size_t kMaxVisits = 1 << 16;
  for (std::size_t visits = 0; !waiting.empty(); ++visits) {
    if (visits > kMaxVisits || waiting.size() > kMaxVisits) {
      return bad_input(fmt::format("more than {} values", kMaxVisits));
    }
    const pickle::Value value = waiting.back();
    waiting.pop_back();
    switch (value.kind()) {
      case pickle::Kind::kNone:
        leaves.emplace_back(pt2::None{});
        break;
      case pickle::Kind::kBool:
        leaves.emplace_back(std::in_place_type<bool>, value.as_bool());
        break;
      case pickle::Kind::kInteger:
        leaves.emplace_back(std::in_place_type<std::int64_t>, value.as_integer());
        break;
      case pickle::Kind::kFloat:
        leaves.emplace_back(std::in_place_type<double>, value.as_float());
        break;
      case pickle::Kind::kText:
        leaves.emplace_back(pt2::Text{std::string(value.as_text())});
        break;
      case pickle::Kind::kTensor:
        leaves.emplace_back(TRY(within(saved.view(value.as_tensor()), fmt::format("leaf {}", leaves.size()))));
        break;
      case pickle::Kind::kTuple:
      case pickle::Kind::kList:
        for (std::size_t i = value.item_count(); i-- > 0;) waiting.push_back(value.item(i));
        break;
      case pickle::Kind::kDict:
        for (std::size_t i = value.item_count(); i > 0; i -= 2) waiting.push_back(value.item(i - 1));
        break;
      case pickle::Kind::kGlobal:
      case pickle::Kind::kStorage:
        return fail(ErrorKind::kUnsupported, "a leaf that is neither a tensor nor a plain value");
    }
  }
  return leaves;
}

}  // namespace isthmus
