// One image, sound or raw file as one row of an input.
#pragma once

#include <string>

#include "base/expected.h"
#include "calibrate/media_folder.h"
#include "calibrate/media_options.h"
#include "interpret/tensor.h"
#include "ir/graph.h"
#include "media/image.h"

namespace isthmus {

// An image after all steps that work on pixels.
Expected<Image> read_image(const std::string& path, const MediaOptions& options, int channels);

// What the model sees, as an image again; `input` is a row that `read_media` made.
Image seen_image(const Tensor& row, const MediaOptions& options, ImageLayout layout);

// How the axes of an image lie in this input: [N,C,H,W] or [N,H,W,C] with 1 or 3 channels.
Expected<ImageLayout> image_layout(const Value& input, const MediaOptions& options);

// A tensor with all axes of the input but the first.
Expected<Tensor> read_media(const std::string& path, MediaKind kind, const Value& input, const MediaOptions& options);

}  // namespace isthmus
