// SPDX-License-Identifier: Apache-2.0
#include "lab/study/family.h"

#include <cmath>

#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::study;

namespace {

Comparison comparison(const std::string& arm, const std::string& control, double p) {
  Comparison c;
  c.metric = "loss/test";
  c.arm = arm;
  c.control = control;
  c.difference = {.pairs = 6, .mean = 1, .lower = -0.5, .upper = 2.5, .p = p};
  return c;
}

}  // namespace

TEST_CASE("a comparison counts once, whichever arm comes first, and is corrected for all others") {
  Family family;
  const auto ab = comparison("a", "b", 0.01), ba = comparison("b", "a", 0.01),
             ac = comparison("a", "c", 0.04);
  family.add(ab);
  family.add(ba);
  family.add(ab);
  CHECK(family.size() == 1);
  family.add(ac);
  family.add("a test of another kind", 0.5);
  CHECK(family.size() == 3);
  std::vector<Comparison> table = {ab, ac};
  std::vector<Comparison> verdict = {ba};
  family.correct(table);
  family.correct(verdict);
  CHECK(table[0].corrected_p == Approx(0.03));
  CHECK(table[1].corrected_p == Approx(0.08));
  // The same number wherever it stands: what a reader checks first.
  CHECK(verdict[0].corrected_p == table[0].corrected_p);
  CHECK(family.corrected("a test of another kind") == Approx(0.5));
  // Another metric or condition is another test.
  auto other = ab;
  other.condition = "rate 2";
  family.add(other);
  CHECK(family.size() == 4);
}

TEST_CASE("what would have been found is told at the level at which it was judged") {
  Family family;
  const auto found = comparison("a", "b", 1e-6), open = comparison("a", "c", 0.4),
             other = comparison("a", "d", 0.5);
  for (const auto& c : {found, open, other}) family.add(c);
  CHECK(family.level() == Approx(kLevel / 2));
  std::vector<Comparison> all = {found, open, other};
  family.correct(all);
  CHECK(all[0].difference.detectable == Approx(found.difference.detectable_at(kLevel / 3)));
  CHECK(all[1].difference.detectable == Approx(open.difference.detectable_at(kLevel / 2)));
}

TEST_CASE("a test without a p-value is none, and one that was not added has none") {
  Family family;
  auto c = comparison("a", "b", std::nan(""));
  family.add(c);
  CHECK(family.size() == 0);
  CHECK(family.level() == kLevel);
  std::vector<Comparison> all = {c};
  family.correct(all);
  CHECK(std::isnan(all[0].corrected_p));
  CHECK(std::isnan(family.corrected("nothing")));
}
