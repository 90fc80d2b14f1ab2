// One point of a sweep: compiled, evaluated and measured.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>

#include "base/expected.h"
#include "cli/session_options.h"
#include "cli/sweep/plan.h"
#include "report/sweep.h"

namespace isthmus {

// What the points of one run share.
class SweepRun {
 public:
  SweepRun(const SweepPlan& plan, std::size_t threads, double seconds);

  // What is known of the point, from its file or by doing the work, which writes the file and the program. Failures
  // that another try may not have (memory, a disk, a file that is missing) are not written.
  SweepRow row_of(const SweepPoint& point);
  // Whether an earlier run has done it: the file is there, and model, data, options and version are those of the file.
  bool is_done(const SweepPoint& point);

 private:
  struct Work {
    SessionFlags flags;
    std::string key;
  };
  std::string path_of(const SweepPoint& point, const char* ending) const;
  Expected<Work> work_of(const SweepPoint& point);
  using Hash = Expected<std::string> (*)(const std::string& path);
  // Each path is hashed once.
  Expected<std::string> hash_of(const std::string& path, Hash hash);
  // Nothing where there is no record, or that of another work.
  std::optional<SweepRecord> record_of(const SweepPoint& point, const Work& work) const;
  Expected<SweepFigures> figures_of(const SweepPoint& point, const Work& work);
  Expected<double> milliseconds_of(const SweepPoint& point);

  std::string folder_;
  std::size_t threads_;
  double seconds_;  // to measure
  std::mutex hashes_mutex_;
  std::map<std::string, std::string> hashes_;  // of files and folders
  std::shared_mutex machine_;                  // held alone while a program's time is measured
};

}  // namespace isthmus
