// A finishing step: a compiler of the device's maker that takes our delegates and gives others in their place.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "formats/executorch/pte.h"

namespace isthmus {

// An option of the step on the command line.
struct FinishOption {
  std::string_view name;  // with its dashes
  std::string_view help;
  bool demands_step = false;  // who gives it wants the step: an error where the target has none
};
// What was given, by the option's name. Empty texts and missing ones mean the same.
using FinishSettings = std::map<std::string, std::string, std::less<>>;
inline std::string setting_of(const FinishSettings& settings, const FinishOption& option) {
  const auto found = settings.find(option.name);
  return found == settings.end() ? "" : found->second;
}

// A number that the step says of a delegate.
struct FinishFigure {
  std::string_view name;
  double number = 0;
};
struct FinishedDelegate {
  pte::Delegate delegate;
  std::vector<FinishFigure> figures;  // empty where it says nothing
  std::string sentence;               // the same for people, without the step's name at its start
};

// Delegates that wait for a step.
struct Unfinished {
  std::string_view what;  // they hold
  std::string_view why;   // they are not finished
};

// A step that is ready to run.
struct Finisher {
  std::string_view name;
  std::function<Expected<FinishedDelegate>(const pte::Delegate& delegate)> run;
  std::string note = {};  // on what runs, where the user did not name it
};

struct FinishingStep {
  std::string_view name;  // of the stage, and in reports
  std::span<const FinishOption> options;
  // For a target of this name. Nothing where the step is neither asked for nor at hand: delegates stay as they are.
  Expected<std::optional<Finisher>> (*prepare)(std::string_view target, const FinishSettings& settings);
  // What is said first where delegates stay as they are for want of it.
  std::string_view missing;
};

}  // namespace isthmus
