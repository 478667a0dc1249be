// SPDX-License-Identifier: Apache-2.0
#include "kappascope/session/schedule.h"

#include <cmath>
#include <vector>

#include "support/catch.h"

using namespace kappascope::session;

TEST_CASE("a schedule emits early, regularly and at the end, and observes the steps before") {
  const Schedule schedule{10, 3, 25};
  std::vector<int64_t> emitted, observed, opened;
  for (int64_t step = 0; step <= 25; ++step) {
    if (schedule.emits(step)) emitted.push_back(step);
    if (schedule.observes(step)) observed.push_back(step);
    if (schedule.opens_window(step)) opened.push_back(step);
  }
  CHECK(emitted == std::vector<int64_t>{2, 10, 20, 25});
  CHECK(observed == std::vector<int64_t>{0, 1, 2, 8, 9, 10, 18, 19, 20, 23, 24, 25});
  CHECK(opened == std::vector<int64_t>{0, 8, 18, 23});
}

TEST_CASE("a step is observed exactly when one of the window's steps from it on emits") {
  for (const Schedule schedule : {Schedule{10, 3, 25},
                                  Schedule{4, 4},
                                  Schedule{7, 5, 2},
                                  Schedule{5, 2, 20},
                                  Schedule{9, 4, 11}}) {
    for (int64_t step = 0; step < 60; ++step) {
      bool emits = false;
      for (int64_t ahead = 0; ahead < schedule.window; ++ahead)
        emits = emits || schedule.emits(step + ahead);
      CHECK(schedule.observes(step) == emits);
    }
    CHECK_FALSE(schedule.observes(-1));
  }
}

TEST_CASE("a schedule of every step has a window each step") {
  const Schedule schedule{1, 1};
  for (int64_t step = 0; step < 5; ++step) {
    CHECK(schedule.emits(step));
    CHECK(schedule.opens_window(step));
  }
}

TEST_CASE(
    "a budget grants the first window and then what its share of the training time pays for") {
  Budget budget(0.1);
  CHECK(budget.grants(0));
  budget.charge(0.5);
  budget.charge(0.5);
  budget.close_window();
  CHECK_FALSE(budget.grants(10));  // spent 1, expected 1 more, but 0.1 · 10 = 1 is all there is
  CHECK(budget.grants(20));
  budget.charge(1);
  budget.close_window();
  CHECK_FALSE(budget.grants(29));
  CHECK(budget.grants(30));
  CHECK(budget.spent() == 2);
}

TEST_CASE("the first window may take half of the whole share and later ones what is left of it") {
  Budget budget(0.01);
  CHECK(budget.allowance(1, 0) == Budget::kFirstWindow);
  CHECK(budget.allowance(1, 9'999) == 50);
  budget.charge(40);
  CHECK(budget.allowance(1, 9'999) == 10);
  budget.close_window();
  CHECK(budget.allowance(5'000, 5'000) == 10);
  CHECK(budget.allowance(1'000, 9'000) == 0);
  CHECK(std::isinf(Budget(0).allowance(1, 0)));
}

TEST_CASE("a budget waits until what a window is known to need fits") {
  Budget budget(0.1);
  budget.charge(1);
  budget.close_window();
  CHECK(budget.grants(30));
  CHECK_FALSE(budget.grants(30, 5));
  CHECK(budget.grants(60, 5));
}

TEST_CASE("over a long run a budget keeps its share, whatever a window costs") {
  Budget budget(0.02);
  double training = 0;
  for (int step = 0; step < 100000; ++step) {
    training += 0.01;
    if (step % 50 == 0 && budget.grants(training)) {
      budget.charge(step < 50000 ? 0.03 : 0.9);  // it becomes thirty times dearer on the way
      budget.close_window();
    }
  }
  // One window may be dearer than expected; after it the share holds again.
  CHECK(budget.spent() <= 0.02 * training + 0.9);
  CHECK(budget.spent() > 0.01 * training);
}

TEST_CASE("no budget means no limit") {
  Budget budget(0);
  budget.charge(1e9);
  budget.close_window();
  CHECK(budget.grants(0));
}
