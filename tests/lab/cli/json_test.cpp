// SPDX-License-Identifier: Apache-2.0
// docs/site/json.md names every key that a command prints.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "support/catch.h"
#include "support/workplace.h"

using kappascope::testing::slurp;
using kappascope::testing::Workplace;
using kappascope::testing::write_bytes;

namespace {

/// The words of the document that stand between backticks.
std::set<std::string> documented() {
  std::set<std::string> words;
  const std::string text = slurp(KAPPASCOPE_DOCS "/site/json.md");
  const std::regex span("`[^`\n]*`"), word("[A-Za-z0-9_]+");
  for (std::sregex_iterator s(text.begin(), text.end(), span), end; s != end; ++s) {
    const std::string code = s->str();
    for (std::sregex_iterator w(code.begin(), code.end(), word); w != end; ++w)
      words.insert(w->str());
  }
  return words;
}

void add_keys(const nlohmann::json& value, std::set<std::string>& keys) {
  for (const auto& item : value.items()) {
    if (value.is_object()) keys.insert(item.key());
    if (item.value().is_structured()) add_keys(item.value(), keys);
  }
}

}  // namespace

TEST_CASE("every key that a command prints is documented") {
  const Workplace work;
  write_bytes(work.path() / "study.ini",
              "[data]\npath = data\n[model]\nwidth = 6\nhidden = 8\nblocks = 1\n"
              "[train]\nsteps = 60\nbatch = 32\nthreads = 1\n"
              "[probes]\nbudget = 0\nhessian = false\n"
              "[study]\nseeds = 2\n"
              "[arms]\nno bias = model.bias=none\nPGB = model.bias=post-gating\n");
  const auto known = documented();
  // A document without its tables would know no key.
  REQUIRE(known.size() > 200);
  const auto check = [&](const std::string& words, std::size_t least) {
    const auto got = work.run(words + " --json");
    CAPTURE(words, got.err);
    CHECK(got.status == 0);
    std::set<std::string> keys;
    std::istringstream lines(got.out);
    for (std::string line; std::getline(lines, line);) add_keys(nlohmann::json::parse(line), keys);
    CHECK(keys.size() >= least);
    for (const auto& key : keys) {
      CAPTURE(key);
      CHECK(known.contains(key));
    }
  };
  const std::string run = "runs/study/PGB_seed-1";
  check("sweep study.ini --list", 5);
  check("sweep study.ini --plan", 20);
  check("sweep study.ini", 30);
  check("train --data data --train.steps 20 --out run", 6);
  check("train --data data --plan", 19);
  check(fmt::format("spectrum {} --top 1 --rows 64 --trace --density --batches 4 --interval 50%",
                    run),
        60);
  check("results runs/study", 30);
  check("compare runs/study", 16);
  check(fmt::format("report {} --out page.html", run), 2);
  check("runs runs/study", 12);
  check("check " + run, 7);
  check("advise " + run, 10);
  check("verify P-ODD", 16);
  check("verify --list", 4);
}

TEST_CASE("a path that is no UTF-8 spoils no JSON") {
  const Workplace work;
  const auto got = work.run("train --data data --train.steps 3 --json --out 'run-\xff'");
  CHECK(got.status == 0);
  CHECK(nlohmann::json::parse(got.out)["steps"] == 3);
  // Nothing is left to do: there is no loss.
  const auto again = work.run("train --resume 'run-\xff' --json");
  CHECK(again.status == 0);
  CHECK(nlohmann::json::parse(again.out)["loss"].is_null());
  CHECK(nlohmann::json::parse(work.run("runs . --json").out)["seconds"] >= 0);
}
