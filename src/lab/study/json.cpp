// SPDX-License-Identifier: Apache-2.0
#include "lab/study/json.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/require.h"

namespace kappascope::study {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNull = std::numeric_limits<double>::quiet_NaN();  // what JSON writes for it

/// JSON has no infinity: it becomes a word, where the library would write null.
Json number(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json number(const std::optional<double>& value) {
  return value ? number(*value) : Json(nullptr);
}

Json finite(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

double to_number(const Json& json) {
  if (json.is_null()) return kNull;
  if (json == "inf") return std::numeric_limits<double>::infinity();
  if (json == "-inf") return -std::numeric_limits<double>::infinity();
  return json.get<double>();
}

double to_number(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? kNull : to_number(*found);
}

std::optional<double> to_optional(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(to_number(json));
}

/// A count. The library would cut a fraction off, and take true for 1.
std::int64_t to_count(const Json& json) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  require(json.is_number_integer() &&
              (!json.is_number_unsigned() || json.get<std::uint64_t>() <= kMost),
          "a count is no whole number");
  return json.get<std::int64_t>();
}

std::int64_t to_count(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? 0 : to_count(*found);
}

Outcome to_outcome(const std::string& word) {
  for (const auto outcome : {Outcome::kHolds,
                             Outcome::kHoldsUnder,
                             Outcome::kRefuted,
                             Outcome::kMeasured,
                             Outcome::kTooFewRuns,
                             Outcome::kNoRegime,
                             Outcome::kUndecided}) {
    if (word == to_string(outcome)) return outcome;
  }
  throw Error("no outcome of a claim is called '" + word + "'");
}

Json json_of(const ArmSummary& arm) {
  Json json = {{"arm", arm.arm}, {"runs", arm.runs}, {"diverged", arm.diverged}};
  if (arm.runs == 0) return json;
  if (arm.parameters) json["parameters"] = *arm.parameters;
  json["memory"] = finite(arm.memory);
  json["probing"] = finite(arm.probing);
  json["spikes"] = finite(arm.spikes);
  return json;
}

ArmSummary arm_of(const Json& json) {
  ArmSummary arm;
  json.at("arm").get_to(arm.arm);
  arm.runs = to_count(json.at("runs"));
  arm.diverged = to_count(json.at("diverged"));
  if (json.contains("parameters")) arm.parameters = to_count(json["parameters"]);
  arm.memory = to_number(json, "memory");
  arm.probing = to_number(json, "probing");
  arm.spikes = to_number(json, "spikes");
  return arm;
}

Comparison comparison_of(const Json& json) {
  Comparison c;
  auto& d = c.difference;
  json.at("arm").get_to(c.arm);
  json.at("condition").get_to(c.condition);
  json.at("control").get_to(c.control);
  json.at("metric").get_to(c.metric);
  c.arm_median = to_number(json.at("median"));
  c.control_median = to_number(json.at("control_median"));
  c.unpaired = to_count(json, "unpaired");
  d.pairs = to_count(json.at("pairs"));
  d.left_out = to_count(json, "left_out");
  d.mean = to_number(json.at("difference"));
  d.lower = to_number(json.at("lower"));
  d.upper = to_number(json.at("upper"));
  d.p = to_number(json, "p");
  d.effect = to_number(json, "effect");
  d.detectable = to_number(json.at("detectable"));
  c.corrected_p = to_number(json.at("p_holm"));
  return c;
}

ClaimVerdict claim_verdict_of(const Json& json, const std::string& study) {
  ClaimVerdict out;
  auto& v = out.verdict;
  out.study = study;
  json.at("claim").get_to(out.claim);
  json.at("source").get_to(out.source);
  json.at("statement").get_to(out.statement);
  out.assumptions = json.value("assumptions", "");
  out.derivation = json.value("derivation", "");
  v.outcome = to_outcome(json.at("outcome"));
  json.at("condition").get_to(v.condition);
  json.at("left").get_to(v.left);
  v.right = json.value("right", "");
  v.measured = to_number(json.at("measured"));
  v.predicted = to_number(json.at("predicted"));
  v.lower = to_optional(json.at("lower"));
  v.upper = to_optional(json.at("upper"));
  if (json.contains("p")) v.p = to_optional(json["p"]);
  if (json.contains("q")) v.q = to_optional(json["q"]);
  v.margin = to_number(json, "margin");
  v.tolerance = to_number(json, "tolerance");
  v.cases = to_count(json, "cases");
  v.witness = json.value("witness", "");
  v.route = json.value("route", "study");
  v.proof = json.value("proof", "");
  v.sizes = json.value("sizes", "");
  return out;
}

}  // namespace

Json json_of(const ClaimVerdict& verdict) {
  const auto& v = verdict.verdict;
  Json json = {{"claim", verdict.claim},
               {"source", verdict.source},
               {"statement", verdict.statement},
               {"assumptions", verdict.assumptions},
               {"derivation", verdict.derivation},
               {"outcome", to_string(v.outcome)},
               {"condition", v.condition},
               {"left", v.left},
               {"right", v.right},
               {"measured", number(v.measured)},
               {"predicted", number(v.predicted)},
               {"lower", number(v.lower)},
               {"upper", number(v.upper)},
               {"margin", number(v.margin)},
               {"tolerance", number(v.tolerance)},
               {"cases", v.cases},
               {"seed", v.seed},
               {"witness", v.witness},
               {"route", v.route},
               {"seconds", number(v.seconds)}};
  if (v.p) json["p"] = number(v.p);
  if (v.q) json["q"] = number(v.q);
  if (!v.proof.empty()) json["proof"] = v.proof;
  if (!v.sizes.empty()) json["sizes"] = v.sizes;
  return json;
}

// In the order of the alphabet, as results have been written from the first on.
Json json_of(const Comparison& c) {
  const auto& d = c.difference;
  return {{"arm", c.arm},
          {"condition", c.condition},
          {"control", c.control},
          {"control_median", finite(c.control_median)},
          {"detectable", finite(d.detectable)},
          {"difference", finite(d.mean)},
          {"effect", finite(d.effect)},
          {"left_out", d.left_out},
          {"lower", finite(d.lower)},
          {"median", finite(c.arm_median)},
          {"metric", c.metric},
          {"p", finite(d.p)},
          {"p_holm", finite(c.corrected_p)},
          {"pairs", d.pairs},
          {"unpaired", c.unpaired},
          {"upper", finite(d.upper)}};
}

Json json_of(const StudyResult& result) {
  Json json = {{"study", result.name},
               {"version", result.version},
               {"command", result.command},
               {"data", result.data},
               {"steps", result.steps},
               {"seeds", result.seeds},
               {"runs", result.runs},
               {"ended", result.ended},
               {"arms", Json::array()},
               {"comparisons", Json::array()},
               {"verdicts", Json::array()}};
  if (!result.definition.empty()) json["definition"] = result.definition;
  if (result.outdated) json["outdated"] = true;
  for (const auto& arm : result.arms) json["arms"].push_back(json_of(arm));
  for (const auto& comparison : result.comparisons)
    json["comparisons"].push_back(json_of(comparison));
  for (const auto& verdict : result.verdicts) {
    auto& entry = json["verdicts"].emplace_back(json_of(verdict));
    entry.erase("seconds");
    entry.erase("seed");
  }
  return json;
}

StudyResult result_of(const Json& json) {
  StudyResult result;
  json.at("study").get_to(result.name);
  result.version = json.value("version", "");
  result.definition = json.value("definition", "");
  result.outdated = json.value("outdated", false);
  json.at("command").get_to(result.command);
  json.at("data").get_to(result.data);
  json.at("steps").get_to(result.steps);
  result.seeds = to_count(json.at("seeds"));
  result.runs = to_count(json.at("runs"));
  result.ended = to_count(json.at("ended"));
  for (const auto& arm : json.at("arms")) result.arms.push_back(arm_of(arm));
  for (const auto& c : json.at("comparisons")) result.comparisons.push_back(comparison_of(c));
  for (const auto& verdict : json.at("verdicts"))
    result.verdicts.push_back(claim_verdict_of(verdict, result.name));
  return result;
}

}  // namespace kappascope::study
