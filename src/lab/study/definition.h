// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/ini.h"
#include "kappascope/store/schema/series.h"
#include "lab/study/regime.h"

namespace kappascope::study {

/// What a study compares. An arm is a labelled variant of the training, a condition one choice of
/// values from the grid; every arm is trained under every condition with every seed.
struct StudyDefinition {
  std::string name{};
  std::vector<std::string> claims{};  ///< that the study decides, by id
  std::vector<std::string> metrics = {
      std::string(store::id::kLossTest)};  ///< what is compared (RunEnd::values)
  std::vector<std::uint64_t> seeds = {1};  ///< each of which trains every arm
  std::vector<std::pair<std::string, IniSettings>>
      arms;  ///< label, settings; the first: the control
  /// Setting and its values.
  std::vector<std::pair<std::string, std::vector<std::string>>> grid{};
  IniSettings base{};  ///< of all runs
  /// What the control must show for a claim to be decided, by the claim's id; several of one claim
  /// must all be reached.
  std::vector<std::pair<std::string, Regime>> regimes{};
};

/// 1 to `count`.
std::vector<std::uint64_t> first_seeds(std::uint64_t count);

/// Seeds as a user gives them: "5" is 1 to 5, "1 2 7" and "4-6 9" are these. Throws UsageError,
/// beginning with `where`, for other text, a seed given twice, and more than a study may have.
std::vector<std::uint64_t> parse_seeds(const std::string& text, const std::string& where);

/// The regimes of one claim.
std::vector<Regime> regimes_of(const StudyDefinition& definition, const std::string& claim);

/// A short text that changes with everything that a result rests on but the number of seeds: arms,
/// grid, settings, metrics, claims and regimes. A stored result names it, so that one of an earlier
/// definition is known.
std::string fingerprint(const StudyDefinition& definition);

/// Reads a definition from an INI file, named after the file:
///
///   [train]                      every section but the next four: settings of all runs
///   steps = 1000
///   [study]
///   seeds = 5                  1 to 5; or those of a list, 1 2 7, or 4-6
///   metrics = loss/test accuracy/test
///   claims = P-X3
///   [arms]                       label = setting=value ..., the first is the control
///   no bias = model.bias=none
///   PGB = model.bias=post-gating
///   [grid]                       setting = value value ...
///   model.dropout = 0 0.1
///   [regime]                     claim = what the control shows where the document speaks
///   P-X3 = accuracy/document_attack of no bias between 0.1 and 0.2
///
/// Values in [arms] and [grid] hold no spaces. Names of settings are not checked. Throws UsageError
/// naming the file: unreadable, an arm that is no list of setting=value, a regime of no claim of
/// the study, what validate() refuses.
StudyDefinition read_definition(const std::filesystem::path& file);

/// Throws UsageError when there are no arms, two arms share a label, an arm sets what the grid
/// varies, a grid has no values, a metric is none (is_metric), there are no metrics or no seeds, a
/// seed is there twice, or a regime is of no arm.
void validate(const StudyDefinition& definition);

}  // namespace kappascope::study
