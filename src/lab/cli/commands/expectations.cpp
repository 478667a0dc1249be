// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/commands/expectations.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "kappascope/core/error.h"

namespace kappascope::cli {
namespace {

struct Expected {
  std::string outcome, condition;
};

std::map<std::string, Expected> read_expected(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw UsageError(fmt::format("cannot read the expected verdicts {}", file.string()));
  std::map<std::string, Expected> expected;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    try {
      const auto row = nlohmann::json::parse(line);
      expected[row.at("claim")] = {row.at("outcome"), row.at("condition")};
    } catch (const nlohmann::json::exception& error) {
      throw UsageError(fmt::format(
          "line {} of {} is no verdict of verify --json: {}", number, file.string(), error.what()));
    }
  }
  return expected;
}

}  // namespace

std::vector<std::string> differences(const std::filesystem::path& expected,
                                     const std::vector<Decided>& verdicts) {
  const auto known = read_expected(expected);
  std::vector<std::string> found;
  for (const auto& [claim, verdict] : verdicts) {
    const auto entry = known.find(claim->id);
    const std::string outcome = theory::to_string(verdict.outcome);
    if (entry == known.end()) {
      found.push_back(fmt::format("{}: {}, not in {}", claim->id, outcome, expected.string()));
    } else if (entry->second.outcome != outcome) {
      found.push_back(
          fmt::format("{}: expected {}, found {}", claim->id, entry->second.outcome, outcome));
    } else if (entry->second.condition != verdict.condition) {
      found.push_back(fmt::format("{}: expected the condition '{}', found '{}'",
                                  claim->id,
                                  entry->second.condition,
                                  verdict.condition));
    }
  }
  const auto& all = theory::all_claims();
  for (const auto& known_claim : known) {
    if (std::ranges::find(all, known_claim.first, &theory::Claim::id) != all.end()) continue;
    found.push_back(fmt::format("{}: expected {}, but there is no such claim",
                                known_claim.first,
                                known_claim.second.outcome));
  }
  return found;
}

}  // namespace kappascope::cli
