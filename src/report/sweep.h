// What a sweep found: a row for each point, and which points no other beats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "report/rows.h"

namespace isthmus {

struct SweepFigures {
  std::uint64_t samples = 0;                              // of the test
  std::optional<double> top1_reference, top1, agreement;  // shares; where there are labels, where there are classes
  std::optional<double> sqnr_db;                          // of the worst output; nothing where none is of real numbers
  std::uint64_t nodes = 0, delegated_nodes = 0, delegates = 0;
  std::uint64_t bytes = 0;  // of the program
  std::optional<double> cycles;
  std::string cycles_source;
  std::optional<double> ms;  // of a run on one thread of this machine, where it can run the delegates themselves
  double seconds = 0;        // that the point took

  bool operator==(const SweepFigures&) const = default;
};

struct SweepRow {
  std::string point, model, target, configuration;
  std::string program;    // the file
  bool was_done = false;  // by an earlier run
  bool is_on_front = false;
  Expected<SweepFigures> figures = SweepFigures{};
};

struct SweepSummary {
  std::string plan, folder;
  std::vector<SweepRow> rows;

  std::size_t failed() const;
};

// Of the points of one model and target, those that no other one beats: another is as good in accuracy (right classes,
// else SQNR), bytes and time, and better in one of them. Times that differ by less than they do from run to run are
// alike.
void mark_front(std::vector<SweepRow>& rows);

std::string to_text(const SweepSummary& summary, TextStyle style = {});
std::string to_json(const SweepSummary& summary);
std::string to_csv(const SweepSummary& summary);

// The file of a point: what was found, and the hash of all that it depends on.
struct SweepRecord {
  std::string key;
  Expected<SweepFigures> figures;
};
std::string write_record(const SweepRecord& record);
Expected<SweepRecord> read_record(const Blob& file);

}  // namespace isthmus
