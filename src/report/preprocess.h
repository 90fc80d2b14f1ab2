// What a model sees of images, as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "session/preprocess.h"

namespace isthmus {

struct PreprocessSummary {
  std::string model;
  std::string data;
  std::string steps;  // in the words of the command line
  std::vector<SeenSample> samples;
};
std::string to_text(const PreprocessSummary& summary);
std::string to_json(const PreprocessSummary& summary);

}  // namespace isthmus
