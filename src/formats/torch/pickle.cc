// A machine for the pickle opcodes that torch.save writes. It makes values and runs nothing.
#include "formats/torch/pickle.h"

#include <fmt/format.h>

#include <bit>

#include "base/untrusted_text.h"
#include "formats/byte_reader.h"
#include "formats/torch/pickle_globals.h"

namespace isthmus::pickle {
namespace {

// Enough for 50,000 tensors; storages are not in the pickle.
constexpr std::size_t kMaxBytes = std::size_t{8} << 20;

enum Opcode : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersistentId = 'Q',
  kReduce = 'R',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kEmptyList = ']',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyTuple = ')',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
};

tl::unexpected<Error> cut_off() { return bad_input("the pickle is truncated"); }

}  // namespace

class Machine {
 public:
  Machine(std::span<const std::byte> bytes, Heap& heap) : reader_(bytes), byte_count_(bytes.size()), heap_(heap) {}

  Expected<void> run() {
    while (true) {
      const std::size_t at = reader_.position();
      const auto opcode = reader_.number<std::uint8_t>();
      if (!opcode) return cut_off();
      if (*opcode == kStop) break;
      TRY(within(step(*opcode), [&] { return fmt::format("byte {} of the pickle", at); }));
    }
    heap_.root_ = TRY(pop());
    if (!stack_.empty() || !marks_.empty()) return bad_input("the pickle ends with values left over");
    return {};
  }

 private:
  using Index = std::uint32_t;
  using Cell = Heap::Cell;
  using Payload = Heap::Payload;

  Expected<void> step(std::uint8_t opcode) {
    switch (opcode) {
      case kProto:
        return protocol();
      case kMark:
        marks_.push_back(stack_.size());
        return {};
      case kNone:
        return push(Kind::kNone);
      case kNewTrue:
      case kNewFalse:
        return push(Kind::kBool, Payload{.integer = opcode == kNewTrue ? 1 : 0});
      case kBinInt1:
        return integer<std::uint8_t>();
      case kBinInt2:
        return integer<std::uint16_t>();
      case kBinInt:
        return integer<std::uint32_t>();
      case kLong1:
        return long_integer();
      case kBinFloat:
        return floating();
      case kBinUnicode:
        return text();
      case kGlobal:
        return global();
      case kEmptyTuple:
        return container(Kind::kTuple, 0);
      case kTuple1:
        return container(Kind::kTuple, 1);
      case kTuple2:
        return container(Kind::kTuple, 2);
      case kTuple3:
        return container(Kind::kTuple, 3);
      case kTuple:
        return container(Kind::kTuple, TRY(count_to_mark()));
      case kEmptyList:
        return container(Kind::kList, 0);
      case kEmptyDict:
        return container(Kind::kDict, 0);
      case kAppend:
        return extend(Kind::kList, 1);
      case kAppends:
        return extend(Kind::kList, TRY(count_to_mark()));
      case kSetItem:
        return extend(Kind::kDict, 2);
      case kSetItems:
        return extend(Kind::kDict, TRY(count_to_mark()));
      case kBinPut:
        return put<std::uint8_t>();
      case kLongBinPut:
        return put<std::uint32_t>();
      case kBinGet:
        return get<std::uint8_t>();
      case kLongBinGet:
        return get<std::uint32_t>();
      case kBinPersistentId:
        return persistent_id();
      case kReduce:
        return reduce();
      case kBuild:
        return build();
      default:
        return bad_input(fmt::format("pickle opcode {:#04x} is not one that torch.save writes", opcode));
    }
  }

  Expected<void> push(Kind kind, Payload payload = {}) {
    stack_.push_back(static_cast<Index>(heap_.cells_.size()));
    heap_.cells_.push_back({kind, payload});
    return {};
  }

  // The values above the innermost mark belong to the opcode that will take them together.
  std::size_t poppable() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

  Expected<Index> pop() {
    if (poppable() == 0) return bad_input("the pickle pops from an empty stack");
    const Index top = stack_.back();
    stack_.pop_back();
    return top;
  }

  Expected<Index> pop(Kind kind, std::string_view what) {
    const Index top = TRY(pop());
    if (cell(top).kind != kind) return bad_input(fmt::format("expected {}", what));
    return top;
  }

  Expected<std::size_t> count_to_mark() {
    if (marks_.empty()) return bad_input("the pickle has no mark where one is expected");
    const std::size_t count = stack_.size() - marks_.back();
    marks_.pop_back();
    return count;
  }

  const Cell& cell(Index index) const { return heap_.cells_[index]; }
  const std::vector<Index>& items(Index index) const { return heap_.containers_[cell(index).payload.where]; }

  Expected<void> protocol() {
    const auto version = reader_.number<std::uint8_t>();
    if (!version) return cut_off();
    if (*version != 2) return bad_input(fmt::format("pickle protocol {}; torch.save writes 2", *version));
    return {};
  }

  template <class Unsigned>
  Expected<void> integer() {
    const auto value = reader_.number<Unsigned>();
    if (!value) return cut_off();
    // Only the widest form is signed.
    if constexpr (sizeof(Unsigned) == 4) {
      return push(Kind::kInteger, Payload{.integer = static_cast<std::int32_t>(*value)});
    }
    return push(Kind::kInteger, Payload{.integer = static_cast<std::int64_t>(*value)});
  }

  Expected<void> long_integer() {
    const auto size = reader_.number<std::uint8_t>();
    const auto digits = size ? reader_.take(*size) : std::nullopt;
    if (!digits) return cut_off();
    if (digits->size() > 8) return bad_input("an integer of more than 64 bits");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < digits->size(); ++i) value |= std::to_integer<std::uint64_t>((*digits)[i]) << (8 * i);
    const bool is_negative = !digits->empty() && std::to_integer<unsigned>(digits->back()) >= 0x80;
    if (is_negative && digits->size() < 8) value |= ~std::uint64_t{0} << (8 * digits->size());
    return push(Kind::kInteger, Payload{.integer = static_cast<std::int64_t>(value)});
  }

  // Big-endian, alone among the numbers of a pickle.
  Expected<void> floating() {
    const auto bits = reader_.number<std::uint64_t>();
    if (!bits) return cut_off();
    return push(Kind::kFloat, Payload{.number = std::bit_cast<double>(__builtin_bswap64(*bits))});
  }

  Expected<void> text() {
    const auto size = reader_.number<std::uint32_t>();
    const auto bytes = size ? reader_.take(*size) : std::nullopt;
    if (!bytes) return cut_off();
    if (!is_utf8(text_of(*bytes))) return bad_input("a string that is not UTF-8");
    return push(Kind::kText, Payload{.text = text_of(*bytes)});
  }

  Expected<void> global() {
    const auto module = reader_.line();
    const auto name = module ? reader_.line() : std::nullopt;
    if (!name) return cut_off();
    const auto known = find_global(*module, *name);
    if (!known) {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("the pickle refers to {} of {}; only tensors and plain values are supported",
                              shown(*name), shown(*module)));
    }
    return push(Kind::kGlobal, Payload{.where = *known});
  }

  Expected<void> container(Kind kind, std::size_t count) {
    if (poppable() < count) return bad_input("the pickle pops from an empty stack");
    std::vector<Index> taken(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    heap_.containers_.push_back(std::move(taken));
    return push(kind, Payload{.where = static_cast<Index>(heap_.containers_.size() - 1)});
  }

  Expected<void> extend(Kind kind, std::size_t count) {
    if (poppable() < count + 1) return bad_input("the pickle pops from an empty stack");
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    const Cell& target = cell(*(first - 1));
    if (target.kind != kind) return bad_input("items are added to a value that is not a container");
    if (kind == Kind::kDict && count % 2 != 0) return bad_input("a key of a dict without a value");
    std::vector<Index>& held = heap_.containers_[target.payload.where];
    held.insert(held.end(), first, stack_.end());
    stack_.erase(first, stack_.end());
    return {};
  }

  template <class Unsigned>
  Expected<void> put() {
    const auto slot = reader_.number<Unsigned>();
    if (!slot) return cut_off();
    if (poppable() == 0) return bad_input("the pickle memoizes from an empty stack");
    // Writers count up from zero, and each turn costs bytes.
    if (*slot >= byte_count_) return bad_input(fmt::format("memo {} in a pickle of {} bytes", *slot, byte_count_));
    if (*slot >= memo_.size()) memo_.resize(std::size_t{*slot} + 1, kNothing);
    memo_[*slot] = stack_.back();
    return {};
  }

  template <class Unsigned>
  Expected<void> get() {
    const auto slot = reader_.number<Unsigned>();
    if (!slot) return cut_off();
    if (*slot >= memo_.size() || memo_[*slot] == kNothing) {
      return bad_input(fmt::format("memo {} is read before it is set", *slot));
    }
    stack_.push_back(memo_[*slot]);
    return {};
  }

  // ("storage", type, key, device, count)
  Expected<void> persistent_id() {
    const Index id = TRY(pop(Kind::kTuple, "a tuple as persistent id"));
    const std::vector<Index>& parts = items(id);
    const bool is_storage = parts.size() == 5 && cell(parts[0]).kind == Kind::kText &&
                            cell(parts[0]).payload.text == "storage" && cell(parts[1]).kind == Kind::kGlobal &&
                            cell(parts[2]).kind == Kind::kText && cell(parts[4]).kind == Kind::kInteger &&
                            cell(parts[4]).payload.integer >= 0;
    if (!is_storage) return bad_input("a persistent id is expected to be (\"storage\", type, key, device, count)");
    const Global& type = known_globals()[cell(parts[1]).payload.where];
    if (type.role != Role::kStorage) return bad_input(fmt::format("{} is not a storage type", type.name));
    heap_.storages_.push_back(
        {type.dtype, cell(parts[2]).payload.text, static_cast<std::uint64_t>(cell(parts[4]).payload.integer)});
    return push(Kind::kStorage, Payload{.where = static_cast<Index>(heap_.storages_.size() - 1)});
  }

  Expected<void> reduce() {
    const Index arguments = TRY(pop(Kind::kTuple, "a tuple of arguments"));
    const Index function = TRY(pop(Kind::kGlobal, "a function to apply"));
    return apply(known_globals()[cell(function).payload.where], items(arguments));
  }

  Expected<void> apply(const Global& function, const std::vector<Index>& arguments) {
    switch (function.role) {
      case Role::kOrderedDict:
        if (!arguments.empty()) return bad_input("expected an empty OrderedDict");
        return container(Kind::kDict, 0);
      case Role::kRebuildTensor:
      case Role::kRebuildTensorV3:
        return rebuild_tensor(function, arguments);
      case Role::kRebuildParameter:
        if (arguments.empty() || cell(arguments[0]).kind != Kind::kTensor) {
          return bad_input(fmt::format("{} expects a tensor", function.name));
        }
        stack_.push_back(arguments[0]);
        return {};
      case Role::kRebuildFromType:
        return rebuild_from_type(arguments);
      case Role::kStorage:
      case Role::kDType:
      case Role::kTensorType:
        break;
    }
    return bad_input(fmt::format("{} is not a function", function.name));
  }

  Expected<void> rebuild_tensor(const Global& function, const std::vector<Index>& arguments) {
    const bool names_dtype = function.role == Role::kRebuildTensorV3;
    const std::size_t needed = names_dtype ? 7 : 6;
    const auto has = [&](std::size_t position, Kind kind) { return cell(arguments[position]).kind == kind; };
    if (arguments.size() < needed || arguments.size() > needed + 1 || !has(0, Kind::kStorage) ||
        !has(1, Kind::kInteger) || !has(2, Kind::kTuple) || !has(3, Kind::kTuple) ||
        (names_dtype && !has(6, Kind::kGlobal))) {
      return bad_input(fmt::format("{} is called with arguments of the wrong kind", function.name));
    }
    // Views that negate or conjugate when read: they are not exported.
    if (arguments.size() > needed && !has(needed, Kind::kNone) &&
        !(has(needed, Kind::kDict) && items(arguments[needed]).empty())) {
      return fail(ErrorKind::kUnsupported, "a tensor with metadata (a lazy conjugate or negative) is not supported");
    }
    const Index storage = cell(arguments[0]).payload.where;
    auto dtype = heap_.storages_[storage].dtype;
    if (names_dtype) dtype = known_globals()[cell(arguments[6]).payload.where].dtype;
    if (!dtype) return bad_input("a tensor of unknown element type");
    heap_.tensors_.push_back({*dtype, storage, cell(arguments[1]).payload.integer, arguments[2], arguments[3]});
    return push(Kind::kTensor, Payload{.where = static_cast<Index>(heap_.tensors_.size() - 1)});
  }

  Expected<void> rebuild_from_type(const std::vector<Index>& arguments) {
    const bool is_call = arguments.size() == 4 && cell(arguments[0]).kind == Kind::kGlobal &&
                         cell(arguments[1]).kind == Kind::kGlobal && cell(arguments[2]).kind == Kind::kTuple;
    if (!is_call) return bad_input("_rebuild_from_type_v2 is called with arguments of the wrong kind");
    const Global& function = known_globals()[cell(arguments[0]).payload.where];
    // One level only, so that no chain of calls can be walked again and again.
    if (function.role == Role::kRebuildFromType) return bad_input("_rebuild_from_type_v2 calls itself");
    return apply(function, items(arguments[2]));
  }

  // The state of a dict is its `_metadata`, which carries no tensors.
  Expected<void> build() {
    TRY(pop());
    if (poppable() == 0 || cell(stack_.back()).kind != Kind::kDict) {
      return fail(ErrorKind::kUnsupported,
                  "the pickle sets the state of an object; only tensors and plain values are supported");
    }
    return {};
  }

  static constexpr Index kNothing = ~Index{0};
  ByteReader reader_;
  std::size_t byte_count_;
  Heap& heap_;
  std::vector<Index> stack_;
  std::vector<std::size_t> marks_;
  std::vector<Index> memo_;
};

Expected<Heap> Heap::read(std::span<const std::byte> bytes) {
  if (bytes.size() > kMaxBytes) {
    return bad_input(fmt::format("a pickle of {} bytes; at most {} are supported", bytes.size(), kMaxBytes));
  }
  Heap heap;
  TRY(Machine(bytes, heap).run());
  return heap;
}

}  // namespace isthmus::pickle
