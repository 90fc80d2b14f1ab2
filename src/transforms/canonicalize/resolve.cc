// Spellings become ops; writing in place becomes reading the new value.
#include "transforms/canonicalize/resolve.h"

#include <fmt/format.h>

#include <optional>

#include "ir/literals.h"
#include "ir/rewriter.h"
#include "ops/call.h"
#include "ops/table.h"
#include "transforms/canonicalize/write_through.h"

namespace isthmus {
namespace {

// What is known of a value of the old graph while the new one grows.
struct Memory {
  std::optional<ValueId> current;  // in the new graph
  std::size_t version = 0;         // how often it was written to
  std::optional<ValueId> base;     // of a view: the value whose memory it shows
  std::size_t base_version = 0;    // of the base when this view was last derived
  const Node* node = nullptr;      // of a view: the call that derives it, to do so again
  std::size_t result = 0;          // and which of its results it is
};

class Resolver {
 public:
  Resolver(const Graph& source, Diagnostics& diagnostics)
      : source_(source), diagnostics_(diagnostics), rewriter_(source), memory_(source.values().size()) {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const ValueId id{static_cast<std::uint32_t>(i)};
      if (source_[id].kind != ValueKind::kResult) memory_[i].current = rewriter_.map(id);
    }
  }

  Expected<Graph> whole() {
    for (const Node& node : source_.nodes()) {
      TRY(within(resolve(node), [&] { return node_text(source_, node); }));
    }
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const ValueId id{static_cast<std::uint32_t>(i)};
      if (memory_[i].current) rewriter_.replace(id, TRY(read(id)));
    }
    return std::move(rewriter_).finish();
  }

 private:
  Graph& graph() { return rewriter_.graph(); }
  Memory& memory(ValueId id) { return memory_[id.index]; }

  // The present value; a view of something that was written to is derived again.
  Expected<ValueId> read(ValueId id) {
    Memory& view = memory(id);
    if (view.base) {
      const ValueId base = TRY(read(*view.base));
      if (view.base_version != memory(*view.base).version) {
        const std::vector<ValueId> results = view.node == nullptr ? std::vector<ValueId>{base} : TRY(call(*view.node));
        view.current = results[view.result];
        view.base_version = memory(*view.base).version;
        ++view.version;
      }
    }
    CHECK(view.current.has_value(), "%" + source_[id].name + " is read before it is computed");
    return *view.current;
  }

  Expected<void> write(ValueId id, ValueId written) {
    Memory& target = memory(id);
    if (target.current == written) return {};
    const ValueId before = TRY(read(id));
    target.current = written;
    ++target.version;
    if (!target.base) return {};
    const ValueId base = TRY(read(*target.base));
    TRY(write(*target.base, TRY(write_through(*emitter_, base, before, written))));
    target.base_version = memory(*target.base).version;
    return {};
  }

  Expected<std::vector<ValueId>> call(const Node& node) {
    const auto& foreign = std::get<ForeignAttrs>(node.attrs);
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(TRY(read(input)));
    std::vector<TensorType> declared;
    for (const ValueId output : node.outputs) declared.push_back(source_.type(output));
    Call reading(graph(), foreign, std::move(inputs), std::move(declared));
    reading.begin(node.origin, node.outputs.empty() ? "check" : source_[node.outputs[0]].name);
    const Spelling& spelling = *find_spelling(foreign.target).spelling;
    std::vector<ValueId> results = TRY(spelling.reader(reading));
    if (results.size() < node.outputs.size()) {
      return Call::unsupported(
          fmt::format("{} results are declared, but {} are known", node.outputs.size(), results.size()));
    }
    return results;
  }

  // A size that the archive declares and one that the op's rule gives: equal, or equal at export time.
  bool agrees(Dim inferred, Dim declared) {
    if (inferred == declared) return true;
    const auto a = graph().exprs().hint(inferred);
    const auto b = graph().exprs().hint(declared);
    return (!inferred.is_fixed() || !declared.is_fixed()) && (!a || !b || *a == *b);
  }

  Expected<void> check(ValueId result, const TensorType& declared) {
    const TensorType& inferred = graph().type(result);
    bool is_same = inferred.dtype == declared.dtype && inferred.rank() == declared.rank();
    for (std::size_t axis = 0; is_same && axis < declared.rank(); ++axis) {
      is_same = agrees(inferred.shape[axis], declared.shape[axis]);
    }
    if (is_same) return {};
    return bad_input(fmt::format("the archive declares {}, but its arguments give {}", type_text(graph(), declared),
                                 type_text(graph(), inferred)));
  }

  // Results take the names that the user's graph gives them.
  void name_results(const Node& node, const std::vector<ValueId>& results, std::size_t first_new_value) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::string& wanted = source_[node.outputs[i]].name;
      const bool is_own = results[i].index >= first_new_value && graph()[results[i]].name != wanted;
      if (is_own && !graph().find(wanted)) graph().rename(results[i], wanted);
    }
  }

  // `cause` is what an error says of the call beside its name.
  Expected<void> keep_foreign(const Node& node, std::string_view why, std::string_view cause = {}) {
    if (!node.outputs.empty() && !why.empty()) {
      diagnostics_.add({.code = "foreign-op",
                        .node = source_[node.outputs[0]].name,
                        .text = fmt::format("{} is not supported: {}", node_text(source_, node), why),
                        .cause = std::string(cause)});
    }
    for (const ValueId input : node.inputs) rewriter_.replace(input, TRY(read(input)));
    rewriter_.copy(node);
    for (const ValueId output : node.outputs) memory(output).current = rewriter_.map(output);
    return {};
  }

  // An unknown op whose name says that it writes to its first argument: what it returns is what it wrote.
  Expected<void> write_foreign(const Node& node) {
    if (node.outputs.empty() || node.inputs.empty()) return {};
    if (source_.type(node.outputs[0]) != source_.type(node.inputs[0])) return {};
    Emitter emitter(graph());
    emitter.begin(node.origin, source_[node.outputs[0]].name);
    emitter_ = &emitter;
    return write(node.inputs[0], *memory(node.outputs[0]).current);
  }

  Expected<void> resolve(const Node& node) {
    const auto* foreign = std::get_if<ForeignAttrs>(&node.attrs);
    if (foreign == nullptr) return keep_foreign(node, {});
    const SpellingMatch match = find_spelling(foreign->target);
    if (match.spelling == nullptr) {
      TRY(keep_foreign(node, "Isthmus does not know this operator"));
      return match.is_in_place ? write_foreign(node) : Expected<void>();
    }
    const std::size_t first_new_value = graph().values().size();
    auto results = call(node);
    if (!results && results.error().kind == ErrorKind::kUnsupported) {
      TRY(keep_foreign(node, results.error().message, results.error().message));
      return match.is_in_place ? write_foreign(node) : Expected<void>();
    }
    std::vector<ValueId> values = TRY(std::move(results));
    if (node.outputs.empty()) return {};
    Emitter emitter(graph());
    emitter.begin(node.origin, source_[node.outputs[0]].name);
    emitter_ = &emitter;
    if (match.is_in_place && !node.inputs.empty()) {
      const TensorType target = source_.type(node.inputs[0]);
      values[0] = TRY(emitter.expand(TRY(emitter.cast(values[0], target.dtype)), target.shape));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) TRY(check(values[i], source_.type(node.outputs[i])));
    name_results(node, values, first_new_value);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) memory(node.outputs[i]).current = values[i];
    if (match.is_in_place && !node.inputs.empty()) {
      TRY(write(node.inputs[0], values[0]));
      remember_view(node.outputs[0], node.inputs[0], nullptr, 0);
    } else if (!node.inputs.empty() && is_view(*match.spelling, node, values)) {
      for (std::size_t i = 0; i < node.outputs.size(); ++i) remember_view(node.outputs[i], node.inputs[0], &node, i);
    }
    return {};
  }

  bool is_view(const Spelling& spelling, const Node& node, const std::vector<ValueId>& values) {
    if (spelling.aliasing == Aliasing::kSelf) return values[0] == *memory(node.inputs[0]).current;
    return spelling.aliasing == Aliasing::kView;
  }

  void remember_view(ValueId view, ValueId base, const Node* node, std::size_t result) {
    Memory& entry = memory(view);
    entry.base = base;
    entry.base_version = memory(base).version;
    entry.node = node;
    entry.result = result;
  }

  const Graph& source_;
  Diagnostics& diagnostics_;
  Rewriter rewriter_;
  std::vector<Memory> memory_;
  Emitter* emitter_ = nullptr;  // of the node being resolved
};

}  // namespace

Expected<Graph> resolve_spellings(const Graph& graph, Diagnostics& diagnostics) {
  return Resolver(graph, diagnostics).whole();
}

}  // namespace isthmus
