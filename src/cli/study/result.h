// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/study/study.h"
#include "kappascope/store/study/comparison.h"
#include "kappascope/theory/claim.h"

namespace kappascope::cli {

using ClaimVerdicts = std::vector<std::pair<const theory::Claim*, theory::Verdict>>;

/// What a sweep found.
struct StudyResult {
  const Study& study;
  const std::vector<store::RunEnd>& ends;
  std::vector<store::Comparison> comparisons;
  std::string command;    ///< that makes it again
  std::int64_t runs = 0;  ///< of the study, ended or not
};

/// Throws UsageError when a claim of the study is none, or is not measured by a study of its name:
/// asked before anything is trained.
void check_claims(const Study& study);

/// The claims of a study, each with its verdict on these runs.
ClaimVerdicts decide_claims(const Study& study, const std::vector<store::RunEnd>& ends);

/// As programs read it: the study, what it was run on, its arms with their sizes and costs, the
/// comparisons and the verdicts. Data and commands are named without their folders.
nlohmann::ordered_json result_json(const StudyResult& result, const ClaimVerdicts& verdicts);

/// Writes the result into the folder `study` of the sweep's folder, a store of its own: verdicts
/// as rows, and the whole as the fact "result". Takes the place of an earlier one.
void write_result(const std::filesystem::path& root,
                  const nlohmann::ordered_json& result,
                  const ClaimVerdicts& verdicts);

/// The result that a sweep left in its folder. Throws Error when there is none.
nlohmann::ordered_json read_result(const std::filesystem::path& root);

}  // namespace kappascope::cli
