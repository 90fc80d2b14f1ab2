// isthmus preprocess
#include <memory>

#include "cli/commands.h"
#include "cli/media_options.h"
#include "cli/session_options.h"
#include "cli/terminal.h"
#include "report/preprocess.h"

namespace isthmus {
namespace {

struct PreprocessOptions {
  std::string model;
  std::string folder;
  DataOptions data;
  CommonFlags common;
};

Expected<void> preprocess(const PreprocessOptions& options) {
  const OpenModel model = TRY(open_model(options.model));
  const PreprocessSummary summary{options.model, options.data.path, options.data.media.text(),
                                  TRY(show_samples(model, options.data, options.folder))};
  if (options.common.wants_json || !options.common.is_quiet) {
    print_output(options.common.wants_json ? to_json(summary) : to_text(summary));
  }
  return {};
}

}  // namespace

Command add_preprocess(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("preprocess", "Writes preprocessed images, as the model sees them, as PNG files.");
  const auto options = std::make_shared<PreprocessOptions>();
  command->add_option("MODEL", options->model, "a torch.export archive (.pt2) or an ONNX model (.onnx)")->required();
  command->add_option("--data", options->data.path, "an image, or a folder of images; subfolders may name classes")
      ->required();
  command->add_option("--show", options->folder, "the folder for the PNG files")->required();
  command->add_option("--samples", options->data.max_samples, "use at most this many images")->check(at_least(1));
  add_media_options(*command, options->data.media);
  add_common_flags(*command, options->common);
  command->footer(
      "Example:\n  isthmus preprocess model.pt2 --data val/ --resize 256 --crop 224 --mean 0.485,0.456,0.406 "
      "--std 0.229,0.224,0.225 --samples 8 --show seen/");
  return {command, [options] { return fine(preprocess(*options)); }};
}

}  // namespace isthmus
