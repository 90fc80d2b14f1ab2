// Messages of an ONNX file, from the model down to attributes.
#include "formats/onnx/onnx.h"

#include <algorithm>
#include <cctype>

#include "formats/onnx/parts.h"

namespace isthmus::onnx {
namespace {

// Graphs inside of attributes of nodes of graphs.
constexpr std::size_t kMaxNesting = 32;

Expected<Graph> read_graph(protozero::pbf_reader message, Source& source, std::size_t depth);

std::pair<std::string, std::string> read_entry(protozero::pbf_reader message) {
  std::pair<std::string, std::string> entry;
  while (message.next()) {
    if (message.tag() == 1) {
      entry.first = text_of(message.get_view());
    } else if (message.tag() == 2) {
      entry.second = text_of(message.get_view());
    } else {
      message.skip();
    }
  }
  return entry;
}

// Some exporters write "?" for a size that has no name.
bool is_name(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char letter) { return std::isalnum(letter) != 0; });
}

Expected<std::vector<Size>> read_shape(protozero::pbf_reader message, Source& source) {
  std::vector<Size> shape;
  while (message.next(1)) {
    TRY(count_item(source));
    Size size;
    protozero::pbf_reader dim = message.get_message();
    while (dim.next()) {
      if (dim.tag() == 1) {
        size = dim.get_int64();
      } else if (dim.tag() == 2) {
        if (std::string name = text_of(dim.get_view()); is_name(name)) size = std::move(name);
      } else {
        dim.skip();
      }
    }
    shape.push_back(std::move(size));
  }
  return shape;
}

Expected<Type> read_type(protozero::pbf_reader message, Source& source) {
  Type type;
  while (message.next()) {
    switch (message.tag()) {
      case 1: {
        type.kind = Type::Kind::kTensor;
        protozero::pbf_reader tensor = message.get_message();
        while (tensor.next()) {
          if (tensor.tag() == 1) {
            type.element = tensor.get_int32();
          } else if (tensor.tag() == 2) {
            type.shape = TRY(read_shape(tensor.get_message(), source));
          } else {
            tensor.skip();
          }
        }
        break;
      }
      case 4:
        type.kind = Type::Kind::kSequence;
        message.skip();
        break;
      case 5:
        type.kind = Type::Kind::kMap;
        message.skip();
        break;
      case 8:
        type.kind = Type::Kind::kSparseTensor;
        message.skip();
        break;
      case 9:
        type.kind = Type::Kind::kOptional;
        message.skip();
        break;
      default:
        message.skip();
    }
  }
  return type;
}

Expected<ValueInfo> read_value(protozero::pbf_reader message, Source& source) {
  TRY(count_item(source));
  ValueInfo value;
  while (message.next()) {
    if (message.tag() == 1) {
      value.name = text_of(message.get_view());
    } else if (message.tag() == 2) {
      value.type = TRY(read_type(message.get_message(), source));
    } else {
      message.skip();
    }
  }
  return value;
}

// The fields of an AttributeProto. Files of IR version 1 and 2 do not say which of them counts.
struct AttributeFields {
  std::int64_t type = 0;
  std::optional<double> f;
  std::optional<std::int64_t> i;
  std::optional<std::string> s;
  std::optional<Tensor> t;
  GraphRef g;
  std::vector<double> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string> strings;
};

// A field that is absent has the default value of its type.
void choose_value(AttributeFields fields, Attribute& attribute) {
  enum : std::int64_t { kFloat = 1, kInt, kString, kTensor, kGraph, kFloats, kInts, kStrings };
  std::int64_t type = fields.type;
  if (type == 0) {
    type = fields.f                  ? kFloat
           : fields.i                ? kInt
           : fields.s                ? kString
           : fields.t                ? kTensor
           : fields.g                ? kGraph
           : !fields.floats.empty()  ? kFloats
           : !fields.strings.empty() ? kStrings
                                     : kInts;
  }
  switch (type) {
    case kFloat:
      attribute.value = fields.f.value_or(0);
      return;
    case kInt:
      attribute.value = fields.i.value_or(0);
      return;
    case kString:
      attribute.value = std::move(fields.s).value_or("");
      return;
    case kTensor:
      if (fields.t) attribute.value = *std::move(fields.t);
      return;
    case kGraph:
      if (fields.g) attribute.value = std::move(fields.g);
      return;
    case kFloats:
      attribute.value = std::move(fields.floats);
      return;
    case kInts:
      attribute.value = std::move(fields.ints);
      return;
    case kStrings:
      attribute.value = std::move(fields.strings);
      return;
    default:
      attribute.value = Unreadable{fmt::format("an attribute of type {}", type)};
  }
}

Expected<Attribute> read_attribute(protozero::pbf_reader message, Source& source, std::size_t depth) {
  TRY(count_item(source));
  Attribute attribute;
  AttributeFields fields;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        attribute.name = text_of(message.get_view());
        break;
      case 2:
        fields.f = static_cast<double>(message.get_float());
        break;
      case 3:
        fields.i = message.get_int64();
        break;
      case 4:
        fields.s = text_of(message.get_view());
        break;
      case 5:
        fields.t = TRY(read_tensor(message.get_message(), source));
        break;
      case 6:
        fields.g = std::make_shared<const Graph>(TRY(read_graph(message.get_message(), source, depth + 1)));
        break;
      case 7:
        if (message.wire_type() == protozero::pbf_wire_type::length_delimited) {
          for (const float number : message.get_packed_float()) fields.floats.push_back(static_cast<double>(number));
        } else {
          fields.floats.push_back(static_cast<double>(message.get_float()));
        }
        break;
      case 8:
        append_integers(message, fields.ints);
        break;
      case 9:
        TRY(count_item(source));
        fields.strings.push_back(text_of(message.get_view()));
        break;
      case 20:
        fields.type = message.get_int32();
        break;
      case 21:
        attribute.reference = text_of(message.get_view());
        break;
      default:
        message.skip();
    }
  }
  choose_value(std::move(fields), attribute);
  return attribute;
}

// "ai.onnx" is another name of the domain of ONNX itself.
std::string domain_of(protozero::data_view view) {
  std::string domain = text_of(view);
  return domain == "ai.onnx" ? std::string() : domain;
}

Expected<Node> read_node(protozero::pbf_reader message, Source& source, std::size_t depth) {
  TRY(count_item(source));
  Node node;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        TRY(count_item(source));
        node.inputs.push_back(text_of(message.get_view()));
        break;
      case 2:
        TRY(count_item(source));
        node.outputs.push_back(text_of(message.get_view()));
        break;
      case 3:
        node.name = text_of(message.get_view());
        break;
      case 4:
        node.op_type = text_of(message.get_view());
        break;
      case 5:
        node.attributes.push_back(TRY(read_attribute(message.get_message(), source, depth)));
        break;
      case 7:
        node.domain = domain_of(message.get_view());
        break;
      case 8:
        node.overload = text_of(message.get_view());
        break;
      case 9:
        TRY(count_item(source));
        node.metadata.insert(read_entry(message.get_message()));
        break;
      default:
        message.skip();
    }
  }
  return node;
}

Expected<Graph> read_graph(protozero::pbf_reader message, Source& source, std::size_t depth) {
  if (depth > kMaxNesting) return bad_input(fmt::format("graphs are nested more than {} deep", kMaxNesting));
  TRY(count_item(source));
  Graph graph;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        graph.nodes.push_back(TRY(read_node(message.get_message(), source, depth)));
        break;
      case 2:
        graph.name = text_of(message.get_view());
        break;
      case 5:
        graph.initializers.push_back(TRY(read_tensor(message.get_message(), source)));
        break;
      case 11:
        graph.inputs.push_back(TRY(read_value(message.get_message(), source)));
        break;
      case 12:
        graph.outputs.push_back(TRY(read_value(message.get_message(), source)));
        break;
      case 13:
        graph.values.push_back(TRY(read_value(message.get_message(), source)));
        break;
      case 15: {
        TRY(count_item(source));
        protozero::pbf_reader sparse = message.get_message();
        std::string name = "without a name";
        while (sparse.next()) {
          if (sparse.tag() == 1) {
            name = TRY(read_tensor(sparse.get_message(), source)).name;
          } else {
            sparse.skip();
          }
        }
        graph.sparse_initializers.push_back(std::move(name));
        break;
      }
      default:
        message.skip();
    }
  }
  return graph;
}

void read_opset(protozero::pbf_reader message, Opsets& opsets) {
  std::string domain;
  std::int64_t version = 0;
  while (message.next()) {
    if (message.tag() == 1) {
      domain = domain_of(message.get_view());
    } else if (message.tag() == 2) {
      version = message.get_int64();
    } else {
      message.skip();
    }
  }
  opsets[domain] = version;
}

Expected<Function> read_function(protozero::pbf_reader message, Source& source) {
  TRY(count_item(source));
  Function function;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        function.name = text_of(message.get_view());
        break;
      case 4:
        TRY(count_item(source));
        function.inputs.push_back(text_of(message.get_view()));
        break;
      case 5:
        TRY(count_item(source));
        function.outputs.push_back(text_of(message.get_view()));
        break;
      case 7:
        function.nodes.push_back(TRY(read_node(message.get_message(), source, 1)));
        break;
      case 9:
        TRY(count_item(source));
        read_opset(message.get_message(), function.opsets);
        break;
      case 10:
        function.domain = domain_of(message.get_view());
        break;
      case 11:
        function.defaults.push_back(TRY(read_attribute(message.get_message(), source, 1)));
        break;
      case 13:
        function.overload = text_of(message.get_view());
        break;
      default:
        message.skip();
    }
  }
  return function;
}

Expected<Model> read_messages(Source& source) {
  Model model;
  bool has_graph = false;
  protozero::pbf_reader message(source.file.text().data(), source.file.size());
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        model.ir_version = message.get_int64();
        break;
      case 2:
        model.producer = text_of(message.get_view());
        break;
      case 3:
        model.producer_version = text_of(message.get_view());
        break;
      case 7:
        if (has_graph) return bad_input("the file has two graphs");
        has_graph = true;
        model.graph = TRY(read_graph(message.get_message(), source, 0));
        break;
      case 8:
        TRY(count_item(source));
        read_opset(message.get_message(), model.opsets);
        break;
      case 14:
        TRY(count_item(source));
        model.metadata.insert(read_entry(message.get_message()));
        break;
      case 25:
        model.functions.push_back(TRY(read_function(message.get_message(), source)));
        break;
      default:
        message.skip();
    }
  }
  if (!has_graph) return bad_input("the file has no graph");
  return model;
}

// Fields of a model: number and kind on the wire.
bool is_model_field(std::uint32_t tag, protozero::pbf_wire_type type) {
  switch (tag) {
    case 1:
    case 5:
      return type == protozero::pbf_wire_type::varint;
    case 2:
    case 3:
    case 4:
    case 6:
    case 7:
    case 8:
    case 14:
    case 20:
    case 25:
    case 26:
      return type == protozero::pbf_wire_type::length_delimited;
    default:
      return false;
  }
}

}  // namespace

std::string_view name_of(Type::Kind kind) {
  switch (kind) {
    case Type::Kind::kUnknown:
      return "a value of unknown type";
    case Type::Kind::kTensor:
      return "a tensor";
    case Type::Kind::kSequence:
      return "a sequence";
    case Type::Kind::kMap:
      return "a map";
    case Type::Kind::kOptional:
      return "an optional value";
    case Type::Kind::kSparseTensor:
      return "a sparse tensor";
  }
  return "";
}

bool looks_like_model(const Blob& file) {
  bool has_graph = false;
  try {
    protozero::pbf_reader message(file.text().data(), file.size());
    while (message.next()) {
      if (!is_model_field(message.tag(), message.wire_type())) return false;
      has_graph = has_graph || message.tag() == 7;
      message.skip();
    }
  } catch (const protozero::exception&) {
    return false;
  }
  return has_graph;
}

Expected<Model> read_model(const Blob& file, const ExternalFiles& external) {
  Source source{file, external};
  try {
    Model model = TRY(read_messages(source));
    model.file_bytes = file.size();
    return model;
  } catch (const protozero::exception& error) {
    return bad_input(fmt::format("not an ONNX model, or a damaged one: {}", error.what()));
  }
}

Expected<Tensor> read_tensor(const Blob& file) {
  const ExternalFiles none = [](const std::string&) -> Expected<Blob> { return bad_input("data in another file"); };
  Source source{file, none};
  try {
    return read_tensor(protozero::pbf_reader(file.text().data(), file.size()), source);
  } catch (const protozero::exception& error) {
    return bad_input(fmt::format("not an ONNX tensor, or a damaged one: {}", error.what()));
  }
}

}  // namespace isthmus::onnx
