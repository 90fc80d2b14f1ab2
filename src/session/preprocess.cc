#include "session/preprocess.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/bytes.h"
#include "calibrate/media_input.h"
#include "media/image.h"

namespace isthmus {
namespace {

Expected<MediaFolder> images_of(const DataOptions& data) {
  if (!std::filesystem::is_directory(data.path)) {
    const auto kind = media_kind(data.path);
    if (!kind || kind != MediaKind::kImages)
      return bad_input(fmt::format("{}: expected an image or a folder of images", data.path));
    return MediaFolder{*kind, {data.path}, {}, {}};
  }
  MediaFolder folder = TRY(list_media(data.path, data.max_samples.value_or(std::numeric_limits<std::size_t>::max())));
  if (folder.kind != MediaKind::kImages)
    return bad_input(fmt::format("{}: expected an image or a folder of images", data.path));
  return folder;
}

template <class Number>
void set_range(SeenSample& sample, const Tensor& row) {
  const auto [min, max] = std::ranges::minmax(row.data<Number>());
  sample.min = min;
  sample.max = max;
}

}  // namespace

Expected<std::vector<SeenSample>> show_samples(const OpenModel& model, const DataOptions& data,
                                               const std::string& folder) {
  const Graph& graph = model.model.graph;
  if (graph.inputs().size() != 1) {
    return bad_input(fmt::format("{} has {} inputs, but an image is one", model.path, graph.inputs().size()));
  }
  const Value& input = graph[graph.inputs()[0]];
  const ImageLayout layout = TRY(within(image_layout(input, data.media), model.path));
  const MediaFolder images = TRY(images_of(data));
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) return fail(ErrorKind::kEnvironment, fmt::format("cannot make {}: {}", folder, problem.message()));
  std::vector<SeenSample> samples;
  for (std::size_t i = 0; i < images.files.size(); ++i) {
    const Tensor row = TRY(read_media(images.files[i], images.kind, input, data.media));
    SeenSample& sample = samples.emplace_back();
    sample.file = images.files[i];
    sample.picture = (std::filesystem::path(folder) / fmt::format("sample_{:05}.png", i)).string();
    if (!images.classes.empty()) {
      sample.label = images.labels[i];
      sample.class_name = images.classes[static_cast<std::size_t>(images.labels[i])];
    }
    sample.sizes = row.sizes();
    sample.sizes.insert(sample.sizes.begin(), 1);
    if (row.dtype() == DType::kU8) {
      set_range<std::uint8_t>(sample, row);
    } else {
      set_range<float>(sample, row);
    }
    TRY(write_file(sample.picture, encode_png(seen_image(row, data.media, layout))));
  }
  return samples;
}

}  // namespace isthmus
