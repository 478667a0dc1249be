// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/schema/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "core/markdown.h"
#include "core/names.h"
#include "core/require.h"
#include "store/rows/array_codec.h"
#include "store/rows/row_checksum.h"
#include "store/schema/rows.h"

namespace kappascope::store {
namespace {

constexpr std::array<std::string_view, 5> kOperators = {
    "hessian", "preconditioned", "ggn", "fisher", "covariance"};

std::vector<SeriesInfo> all_rows() {
  auto rows = rows_of_runs();
  for (auto& row : rows_of_spectra()) rows.push_back(std::move(row));
  return rows;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.front() != '0' &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// The name under which the schema lists a series: "hessian/lambda_K" of "hessian/lambda_3".
std::string listed_name(std::string_view name) {
  for (const auto& family : {id::kHessianLambdaMin, id::kHessianLambda}) {
    if (family.contains(name) && is_number(name.substr(family.prefix().size())))
      return family.of("K");
  }
  if (id::kCost.contains(name) && name.size() > id::kCost.prefix().size() &&
      !(id::kCostTotal == name) && !(id::kStepSeconds == name)) {
    return id::kCost.of("PROBE");
  }
  if (const auto found = parse_spectrum(name)) {
    if (std::ranges::find(kOperators, found->operator_kind) != kOperators.end())
      return id::kSpectrum.of("OPERATOR/BLOCK/" + found->part);
  }
  return std::string(name);
}

std::vector<std::string_view> texts_of(StatusSet statuses) {
  std::vector<std::string_view> texts;
  for (std::size_t i = 0; i < Status::kCount; ++i) {
    const Status status(static_cast<Status::Value>(i));
    if (statuses.contains(status)) texts.push_back(status.text());
  }
  return texts;
}

[[noreturn]] void refuse_name(const std::string& name) {
  throw Error(
      fmt::format("'{}' is not in the schema of a run (src/store/README.md lists what is); the "
                  "name of a series of your own begins with {}",
                  name,
                  id::kUser.prefix()));
}

/// Here, where the caller is: a name that the writer refuses would hold up all that comes after it.
template <typename Record>
void require_short(const Record& record) {
  require(std::max(record.name.size(), record.layer.size()) <= kLongestName,
          "the name of a series or of its layer has more than {} bytes: {}…",
          kLongestName,
          (record.name + " of " + record.layer).substr(0, 40));
}

std::string emitter_of(const SeriesInfo& info) {
  switch (info.emitter) {
    case Emitter::kTraining:
      return "training";
    case Emitter::kClassification:
      return "classification";
    case Emitter::kLayerProbe:
      return fmt::format("probe {}", info.probe);
    case Emitter::kHessian:
      return "probe hessian";
    case Emitter::kCriticalStep:
      return "probe critical_step";
    case Emitter::kSpectrum:
      return "`kappascope spectrum`";
  }
  return "";
}

std::string_view text_of(Scope scope) {
  return name_in<Scope::kParameter>(std::array{"model", "layer", "parameter"}, scope);
}

std::string readers_of(const SeriesInfo& info) {
  static constexpr std::array<std::pair<Reader, std::string_view>, 5> kReaders = {
      {{kFigure, "figure"},
       {kFindings, "findings"},
       {kTable, "table"},
       {kStudy, "studies"},
       {kClaim, "claims"}}};
  std::vector<std::string_view> texts;
  for (const auto& [reader, text] : kReaders) {
    if ((info.read_by & reader) != 0) texts.push_back(text);
  }
  if (texts.empty()) return fmt::format("store only: {}", info.why_only_stored);
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

const std::vector<SeriesInfo>& schema() {
  static const std::vector<SeriesInfo> rows = all_rows();
  return rows;
}

const SeriesInfo* find_series(std::string_view name, bool array) {
  static const auto places = [] {
    std::unordered_map<std::string, const SeriesInfo*> found;
    for (const auto& row : schema()) found.emplace(row.name, &row);
    return found;
  }();
  const auto found = places.find(listed_name(name));
  return found == places.end() || found->second->array != array ? nullptr : found->second;
}

void require_in_schema(const Scalar& scalar) {
  require_short(scalar);
  if (id::kUser.contains(scalar.name)) {
    if (!(scalar.status == Status::kOther)) return;
    throw Error(fmt::format("the status of {} has no meaning; a text of your own is an attribute",
                            scalar.name));
  }
  const auto* info = find_series(scalar.name);
  if (info == nullptr) refuse_name(scalar.name);
  if (!info->statuses.contains(scalar.status)) {
    throw Error(fmt::format("the status of {} may be {}, not {}",
                            scalar.name,
                            fmt::join(texts_of(info->statuses), ", "),
                            scalar.status.text()));
  }
  for (const auto& [key, text] : scalar.attributes) {
    if (key == info->attribute) continue;
    throw Error(fmt::format("{} has no attribute '{}'", scalar.name, key));
  }
}

void require_in_schema(const Array& array) {
  require_short(array);
  if (id::kUser.contains(array.name) || find_series(array.name, true) != nullptr) return;
  refuse_name(array.name);
}

void require_in_schema(const Snapshot& snapshot) {
  require(-kLargestStep <= snapshot.step && snapshot.step <= kLargestStep,
          "{} is no step of a training",
          snapshot.step);
  for (const Scalar& scalar : snapshot.scalars) {
    require(!scalar.name.empty(), "a scalar of step {} has no name", snapshot.step);
    require_in_schema(scalar);
  }
  for (const Array& array : snapshot.arrays) {
    require(!array.name.empty(), "an array of step {} has no name", snapshot.step);
    require(element_count(array.shape) == static_cast<std::int64_t>(array.data.size()),
            "array {} has shape {} but {} numbers",
            array.name,
            shape_text(array.shape),
            array.data.size());
    require_in_schema(array);
  }
}

std::string schema_markdown() {
  std::string text =
      "| series | unit | of | what it is | status | attribute | written by | read by |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const auto& info : schema()) {
    text += fmt::format(
        "| `{}` | {} | {} | {} | {} | {} | {} | {} |\n",
        info.name,
        info.unit,
        text_of(info.scope),
        markdown_cell(std::string(info.meaning)),
        info.array ? "array" : fmt::format("{}", fmt::join(texts_of(info.statuses), ", ")),
        info.attribute,
        emitter_of(info),
        readers_of(info));
  }
  return text;
}

std::string quantities_markdown() {
  std::string text =
      "| series | unit | what it is | interval | estimator | seen equal to | cost of a window |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const auto& info : schema()) {
    if (info.known.interval.empty()) continue;
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n",
                        info.name,
                        info.unit,
                        markdown_cell(std::string(info.meaning)),
                        info.known.interval,
                        info.known.source,
                        info.known.checked,
                        info.known.cost);
  }
  return text;
}

}  // namespace kappascope::store
