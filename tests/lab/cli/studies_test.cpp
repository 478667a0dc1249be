// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "support/catch.h"
#include "support/workplace.h"

using kappascope::testing::slurp;
using kappascope::testing::Workplace;
namespace fs = std::filesystem;

TEST_CASE("every study can be read, its settings are meant, and the README has it") {
  const Workplace work;
  const fs::path experiments = KAPPASCOPE_EXPERIMENTS;
  const auto readme = slurp(experiments / "README.md");
  int studies = 0;
  for (const auto* scale : {"small", "paper"}) {
    for (const auto& entry : fs::directory_iterator(experiments / scale)) {
      const auto listed = work.run("sweep '" + entry.path().string() + "' --list");
      CAPTURE(entry.path(), listed.err);
      CHECK(listed.status == 0);
      CHECK(std::count(listed.out.begin(), listed.out.end(), '\n') >= 6);
      CHECK(readme.find("`" + entry.path().stem().string() + "`") != std::string::npos);
      CHECK(slurp(entry.path()).find("claims = ") != std::string::npos);
      ++studies;
    }
  }
  CHECK(studies >= 20);
}

TEST_CASE("the language models of the paper's scale have the documents' sizes") {
  const Workplace work;
  // "Revisiting ASGER": 134 million and 83 million (ablation); "Isotropy GMLP": the same 134
  // million; "Post-gating bias": Phi-3 mini (3.8 billion) and a Gemma 3 of one billion, of
  // which 227 million are the tokens beyond the 65,536 that a file of 16-bit tokens can name.
  const std::map<std::string, std::pair<std::string, std::pair<double, double>>> sizes = {
      {"asger", {"SwiGLU", {133.5e6, 134.5e6}}},
      {"asger-ablation", {"SwiGLU", {82.5e6, 83.5e6}}},
      {"isogmlp", {"SwiGLU", {133.5e6, 134.5e6}}},
      {"pgb-phi3", {"no bias", {3.75e9, 3.85e9}}},
      {"pgb-gemma3", {"no bias", {0.77e9, 0.78e9}}}};
  for (const auto& [study, size] : sizes) {
    const auto& [arm, range] = size;
    const auto file = fs::path(KAPPASCOPE_EXPERIMENTS) / "paper" / (study + ".ini");
    const auto listed = work.run("sweep '" + file.string() + "' --list --json");
    CAPTURE(study, listed.err);
    REQUIRE(listed.status == 0);
    std::map<std::string, double> parameters;
    for (const auto& run : nlohmann::json::parse(listed.out))
      parameters[run["arm"]] = run["parameters"].get<double>();
    REQUIRE(parameters.contains(arm));
    CHECK(parameters[arm] >= range.first);
    CHECK(parameters[arm] <= range.second);
    // As printed, ASGER has 2F² more weights a layer than a gated MLP; balanced, as many to 0.05 %.
    if (study == "asger") {
      CHECK(parameters["ASGER"] - parameters["SwiGLU"] == 12 * 2 * 3072.0 * 3072);
      CHECK(parameters["ASGER balanced"] == Approx(parameters["SwiGLU"]).epsilon(5e-4));
    }
  }
}
