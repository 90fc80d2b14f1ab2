// TOSA graphs put together by hand, and the recorded cases of single operators.
#include "support/tosa.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "engines/xnnpack/thread_pool.h"
#include "formats/npy.h"

namespace isthmus::test {

std::string TosaBuilder::next_name(const char* stem) { return stem + std::to_string(graph.values.size()); }

tosa::ValueIndex TosaBuilder::value(tosa::Type type, std::vector<std::int32_t> shape, Blob data) {
  graph.values.push_back({next_name("v"), type, std::move(shape), std::move(data)});
  return static_cast<tosa::ValueIndex>(graph.values.size() - 1);
}
tosa::ValueIndex TosaBuilder::input(tosa::Type type, std::vector<std::int32_t> shape) {
  graph.inputs.push_back(value(type, std::move(shape)));
  return graph.inputs.back();
}
tosa::ValueIndex TosaBuilder::constant(tosa::Type type, std::vector<std::int32_t> shape,
                                       const std::vector<std::int64_t>& numbers) {
  const auto index = value(type, std::move(shape), Blob::owning(packed(type, numbers)));
  graph.operators.push_back({tosa::Op::kConst, tosa::Nothing{}, {}, {index}});
  return index;
}
tosa::ValueIndex TosaBuilder::shape(const std::vector<std::int64_t>& sizes) {
  const auto index = value(tosa::Type::kShape, {static_cast<std::int32_t>(sizes.size())},
                           Blob::owning(packed(tosa::Type::kShape, sizes)));
  graph.operators.push_back({tosa::Op::kConstShape, tosa::Nothing{}, {}, {index}});
  return index;
}
tosa::ValueIndex TosaBuilder::op(tosa::Op op, tosa::Fields fields, std::vector<tosa::ValueIndex> inputs,
                                 tosa::Type type, std::vector<std::int32_t> shape) {
  const auto index = value(type, std::move(shape));
  graph.operators.push_back({op, std::move(fields), std::move(inputs), {index}});
  return index;
}

std::vector<std::byte> packed(tosa::Type type, const std::vector<std::int64_t>& numbers) {
  std::vector<std::byte> bytes;
  if (type == tosa::Type::kI4) {
    bytes.resize((numbers.size() + 1) / 2);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      bytes[i / 2] |= static_cast<std::byte>((numbers[i] & 0xF) << (i % 2 * 4));
    }
    return bytes;
  }
  for (const std::int64_t number : numbers) {
    for (std::uint32_t bit = 0; bit < tosa::bits_of(type); bit += 8) {
      bytes.push_back(static_cast<std::byte>(number >> bit & 0xFF));
    }
  }
  return bytes;
}

Blob file_of(const tosa::Graph& graph) {
  auto bytes = tosa::write_graph(graph);
  CHECK(bytes.has_value(), bytes ? "" : bytes.error().text());
  return Blob::owning(*std::move(bytes));
}

Tensor random_tensor(const tosa::Port& port, std::mt19937& random) {
  Tensor tensor(port.dtype, port.sizes);
  for (std::byte& byte : tensor.mutable_bytes()) byte = static_cast<std::byte>(random() & 0xFF);
  if (port.type == tosa::Type::kBool) {
    for (std::byte& byte : tensor.mutable_bytes()) byte &= std::byte{1};
  } else if (port.type == tosa::Type::kI4) {
    for (std::int8_t& number : tensor.mutable_data<std::int8_t>()) number = static_cast<std::int8_t>(number >> 4);
  } else if (port.type == tosa::Type::kI48) {
    for (std::int64_t& number : tensor.mutable_data<std::int64_t>()) number >>= 16;
  }
  return tensor;
}
std::vector<Tensor> random_inputs(const tosa::Interpreter& interpreter, std::mt19937& random) {
  std::vector<Tensor> inputs;
  for (const tosa::Port& port : interpreter.inputs()) inputs.push_back(random_tensor(port, random));
  return inputs;
}

std::vector<Tensor> run_both_ways(const tosa::Graph& graph, std::span<const Tensor> inputs) {
  const auto compute = [&](const tosa::LoadOptions& options) {
    const auto interpreter = tosa::Interpreter::load(graph, options);
    CHECK(interpreter.has_value(), interpreter ? "" : interpreter.error().text());
    auto outputs = interpreter->run(inputs);
    CHECK(outputs.has_value(), outputs ? "" : outputs.error().text());
    return *std::move(outputs);
  };
  static const xnnpack::ThreadPool pool(3);
  const std::vector<Tensor> plain = compute({.kernels = tosa::Kernels::kPlain});
  for (const auto& fast : {compute({}), compute({.threads = pool.get()})}) {
    EXPECT_EQ(fast.size(), plain.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_EQ(integers(fast[i]), integers(plain[i])) << "output " << i << ": fast kernels compute otherwise";
    }
  }
  return plain;
}

std::vector<std::int64_t> integers(const Tensor& tensor) {
  std::vector<std::int64_t> result;
  dispatch(tensor.dtype(), [&]<class Number>(Number) {
    for (const Number number : tensor.data<Number>()) result.push_back(static_cast<std::int64_t>(number));
  });
  return result;
}

Files files_of_folder(const std::filesystem::path& folder) {
  Files files;
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::string name = std::filesystem::relative(entry.path(), folder).generic_string();
    files[std::move(name)] = *map_file(entry.path().string());
  }
  return files;
}

Files files_of_archive(const std::filesystem::path& tar_gz) {
  Files files;
  gzFile stream = gzopen(tar_gz.c_str(), "rb");
  if (stream == nullptr) return files;
  constexpr std::size_t kBlock = 512;
  char header[kBlock];
  std::string long_name;  // of the next file, where it does not fit its header
  while (gzread(stream, header, kBlock) == static_cast<int>(kBlock) && header[0] != 0) {
    const std::size_t size = std::strtoull(std::string(header + 124, 12).c_str(), nullptr, 8);
    std::string name = std::string(header, strnlen(header, 100));
    if (header[345] != 0) name = std::string(header + 345, strnlen(header + 345, 155)) + "/" + name;
    std::vector<std::byte> bytes((size + kBlock - 1) / kBlock * kBlock);
    if (!bytes.empty() && gzread(stream, bytes.data(), static_cast<unsigned>(bytes.size())) <= 0) break;
    bytes.resize(size);
    if (header[156] == 'x') {
      const std::string facts(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      const std::size_t start = facts.find(" path=") + 6;
      if (start >= 6) long_name = facts.substr(start, facts.find('\n', start) - start);
    } else if (header[156] == '0' || header[156] == 0) {
      files[long_name.empty() ? name : long_name] = Blob::owning(std::move(bytes));
      long_name.clear();
    }
  }
  gzclose(stream);
  return files;
}

std::vector<std::string> cases_in(const Files& files, const std::string& prefix) {
  std::vector<std::string> cases;
  for (const auto& [name, bytes] : files) {
    const std::string tail = "/graph.tosa";
    if (name.starts_with(prefix) && name.ends_with(tail)) cases.push_back(name.substr(0, name.size() - tail.size()));
  }
  return cases;
}

namespace {

// "input-0" is in input-0.npy, "result-0" in expected-0.npy.
Expected<Tensor> recorded(const Files& files, const std::string& folder, std::string name) {
  if (name.starts_with("result-")) name = "expected-" + name.substr(7);
  const auto found = files.find(folder + "/" + name + ".npy");
  if (found == files.end()) return bad_input("no " + name + ".npy");
  return Tensor::from(TRY(read_npy(found->second)));
}

Expected<std::string> run_case(const Files& files, const std::string& folder) {
  const tosa::Graph graph = TRY(tosa::read_graph(files.at(folder + "/graph.tosa")));
  static const xnnpack::ThreadPool pool(2);
  for (const auto& options : {tosa::LoadOptions{.kernels = tosa::Kernels::kPlain}, tosa::LoadOptions{},
                              tosa::LoadOptions{.threads = pool.get()}}) {
    const auto interpreter = TRY(tosa::Interpreter::load(graph, options));
    std::vector<Tensor> inputs;
    for (const tosa::Port& port : interpreter.inputs()) inputs.push_back(TRY(recorded(files, folder, port.name)));
    const auto outputs = TRY(interpreter.run(inputs));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Tensor expected = TRY(recorded(files, folder, interpreter.outputs()[i].name));
      if (outputs[i].dtype() != expected.dtype() || outputs[i].sizes() != expected.sizes())
        return "another type or shape";
      if (!std::ranges::equal(outputs[i].bytes(), expected.bytes())) {
        return options.kernels == tosa::Kernels::kPlain ? "other numbers" : "other numbers from fast kernels";
      }
    }
  }
  return std::string();
}

}  // namespace

std::string check_recorded_case(const Files& files, const std::string& folder) {
  const auto problem = run_case(files, folder);
  return problem ? *problem : problem.error().text();
}

}  // namespace isthmus::test
