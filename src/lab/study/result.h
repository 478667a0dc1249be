// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "lab/study/comparison.h"
#include "lab/study/run_ends.h"
#include "lab/study/verdict.h"

namespace kappascope::study {

/// What one arm's runs were and took; NaN where no run recorded it.
struct ArmSummary {
  static constexpr double kNotRecorded = std::numeric_limits<double>::quiet_NaN();

  std::string arm{};
  std::int64_t runs = 0;      ///< that ended
  std::int64_t diverged = 0;  ///< of these: whose loss became NaN or infinite
  std::optional<std::int64_t> parameters{};
  double memory = kNotRecorded;   ///< bytes of training, median over the runs
  double probing = kNotRecorded;  ///< share of the training time, median over the runs
  double spikes = kNotRecorded;   ///< of the loss in one run, median over the runs
};

/// What a study found: the value that is stored, drawn and printed. Data and commands are named
/// without their folders.
struct StudyResult {
  std::string name{};
  std::string version{};     ///< of Kappascope
  std::string command{};     ///< that makes the result again
  std::string data{};        ///< by name, those of all runs
  std::string steps{};       ///< of a run; several where runs differ: "100, 200"
  std::string definition{};  ///< fingerprint() of the study; empty where none was recorded
  bool outdated = false;     ///< the definition has changed since: mark_outdated()
  std::int64_t seeds = 0;
  std::int64_t runs = 0;           ///< of the study, ended or not
  std::int64_t ended = 0;          ///< of these
  std::vector<ArmSummary> arms{};  ///< the control first
  std::vector<Comparison> comparisons{};
  std::vector<ClaimVerdict> verdicts{};
  /// The folders of its runs, in that of the study; stored beside the result, not in its JSON.
  /// Empty where none were stored.
  std::vector<std::string> folders{};

  /// The arm with which the others are compared; empty without arms.
  [[nodiscard]] std::string control() const { return arms.empty() ? "" : arms.front().arm; }
};

/// The arms of these runs compared with the first of `arms`, and what each took; without names of
/// study and command and without verdicts. Arms of the runs that `arms` does not name follow in the
/// order of the runs. Throws what compare_runs() throws.
StudyResult summarise(const std::vector<RunEnd>& runs,
                      std::vector<std::string> arms,
                      const std::vector<std::string>& metrics);

/// Stores the result in `folder`/study, a run store of its own: the verdicts as rows, the whole as
/// JSON in the fact "result". Replaces an earlier result, and throws Error as the next.
void write_result(const std::filesystem::path& folder, const StudyResult& result);

/// Throws Error where `folder`/study is there and is no result that write_result() left, naming it.
void require_place_for_result(const std::filesystem::path& folder);

/// The result that write_result() left in a study's folder. Throws Error naming the folder when
/// there is none.
StudyResult read_result(const std::filesystem::path& folder);

/// Is there a result in this folder?
bool has_result(const std::filesystem::path& folder);

/// Whether the folder holds a result of more runs than this one, which misses some of its own: then
/// a run was lost since, or cannot be read, and the stored result is not to be replaced.
bool holds_more(const std::filesystem::path& folder, const StudyResult& result);

/// Takes the verdicts of a study that was not run again since its definition changed for what they
/// are: undecided, with the earlier outcome in the condition. Comparisons and arms stay, of the
/// earlier definition.
void mark_outdated(StudyResult& result);

/// Fills in `q` of every verdict that has a p, over all of them (Benjamini and Hochberg 1995), and
/// turns what was decided with q of kLevel or more into "too few runs": of the verdicts that stay
/// decided by a test at most a share kLevel is expected to be wrong, for tests that are independent
/// or positively dependent. Claims of ours (`source` begins with "ours") are corrected apart from
/// the documents', which they would make look surer where they are easy.
void control_false_discovery(std::vector<StudyResult>& results);

/// Results as one JSON object {"studies": [...]}, as `kappascope results` writes them. `indent` -1:
/// in one line.
std::string results_json(const std::vector<StudyResult>& results, int indent = -1);

/// What it begins with when indented, by which the file is known to be replaceable.
inline constexpr const char* kResultsMark = R"("studies": [)";

/// One result as the JSON object that `kappascope sweep --json` prints.
std::string result_json(const StudyResult& result);

/// Reads what results_json() wrote. Throws Error when the text is nothing of the kind.
std::vector<StudyResult> parse_results(const std::string& json);

/// The comparisons alone, as `kappascope compare --json` prints them.
std::string comparisons_json(const std::vector<Comparison>& comparisons);

}  // namespace kappascope::study
