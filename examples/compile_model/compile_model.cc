// Compiles a model with nothing but the public header: compile_model MODEL TARGET CALIBRATION OUT.pte
#include <isthmus/isthmus.h>

#include <cstdio>
#include <string>

namespace {

int complain(const isthmus::v1::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: compile_model MODEL TARGET CALIBRATION OUT.pte\n");
    return 2;
  }
  const auto model = isthmus::v1::Model::open(argv[1]);
  if (!model) return complain(model.error());

  isthmus::v1::Options options;
  options.target = argv[2];
  const auto report = isthmus::v1::check(*model, options);
  if (!report) return complain(report.error());
  std::printf("%s", report->json().c_str());

  std::string last_stage;
  const auto progress = [&](std::string_view stage, double) {
    if (stage != last_stage) std::fprintf(stderr, "%s\n", std::string(stage).c_str());
    last_stage = stage;
    return true;  // false would cancel
  };
  const auto program = isthmus::v1::compile(*model, options, isthmus::v1::Data::file(argv[3]), progress);
  if (!program) return complain(program.error());
  std::printf("%s", program->report().json().c_str());

  const auto saved = program->save(argv[4]);
  return saved ? 0 : complain(saved.error());
}
