// classify MODEL CALIBRATION OUT.pte IMAGE: compiles a classifier to int8 and asks it for the class of one image.
// IMAGE holds the numbers of the model's input as raw 32-bit floats.
#include <isthmus/isthmus.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace v1 = isthmus::v1;

namespace {

int complain(const v1::Error& error) {
  std::fprintf(stderr, "classify: %s\n", error.message.c_str());
  return 1;
}

std::vector<float> read_floats(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: classify MODEL CALIBRATION OUT.pte IMAGE\n");
    return 2;
  }
  const auto model = v1::Model::open(argv[1]);
  if (!model) return complain(model.error());

  v1::Options options;
  options.target = "xnnpack";
  const auto program = v1::compile(*model, options, v1::Data::file(argv[2]));
  if (!program) return complain(program.error());
  if (const auto saved = program->save(argv[3]); !saved) return complain(saved.error());

  const std::vector<float> image = read_floats(argv[4]);
  const auto outputs = program->run({v1::Tensor::of(image, {1, 1, 28, 28})});
  if (!outputs) return complain(outputs.error());
  const std::vector<float> scores = (*outputs)[0].floats();
  std::printf("class %td of %zu\n", std::max_element(scores.begin(), scores.end()) - scores.begin(), scores.size());
  return 0;
}
