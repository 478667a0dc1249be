// SPDX-License-Identifier: Apache-2.0
#include "kappascope/session/schedule.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <vector>

#include "support/catch.h"

using namespace kappascope::session;

namespace {

// Late in a training of long steps, so that no limit but the share of the whole time is met.
Progress late(double training_seconds) {
  return {1'000'000, training_seconds, 1e6};
}

}  // namespace

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
  CHECK(budget.grants(late(0)));
  budget.charge(0.5);
  budget.charge(0.5);
  budget.close_window(0);
  CHECK_FALSE(
      budget.grants(late(10)));  // spent 1, expected 1 more, but 0.1 · 10 = 1 is all there is
  CHECK(budget.grants(late(20)));
  budget.charge(1);
  budget.close_window(0);
  CHECK_FALSE(budget.grants(late(29)));
  CHECK(budget.grants(late(30)));
  CHECK(budget.spent() == 2);
}

TEST_CASE("what a first window of an unknown cost may take") {
  Budget budget(0.01);
  CHECK(budget.allowance(1, 0) == Budget::kFirstWindow);
  CHECK(budget.allowance(1, 9'999) == 50);
  budget.charge(40);
  CHECK(budget.allowance(1, 9'999) == 10);
  budget.close_window(0);
  CHECK(budget.allowance(5'000, 5'000) == 10);
  CHECK(budget.allowance(1'000, 9'000) == 0);
  CHECK(std::isinf(Budget(0).allowance(1, 0)));
  // Nothing is known of it before, whatever it asks for at least; afterwards it is.
  const Progress none{.step = 10, .training_seconds = 0, .step_seconds = 0.1};
  Budget fresh(0.01);
  CHECK(fresh.grants(none, 1, /*least_seconds=*/100));
  fresh.charge(0.1);
  CHECK_FALSE(fresh.grants(none, 1, 100));
  // Where the length of training is known it is not at the start.
  const auto of = [](double training, double ahead) {
    return Progress{
        .step = 10, .training_seconds = training, .step_seconds = 0.1, .seconds_ahead = ahead};
  };
  const Budget unspent(0.01);
  CHECK_FALSE(unspent.grants(of(9, 10)));
  CHECK(unspent.grants(of(10, 10)));
  CHECK_FALSE(unspent.grants(of(29, 1'000)));
  CHECK(unspent.grants(of(30, 1'000)));
  CHECK(unspent.grants(of(0, 0)));  // of unknown length
}

TEST_CASE("a first window whose cost is presumed waits until training has paid for it") {
  Budget budget(0.01, /*presumed=*/2);
  const auto at = [](double training, double ahead = 0) {
    return Progress{
        .step = 10, .training_seconds = training, .step_seconds = 0.1, .seconds_ahead = ahead};
  };
  CHECK_FALSE(budget.grants(at(99), 0.5));
  CHECK(budget.grants(at(100), 0.5));
  CHECK(budget.grants(at(0), Budget::kFree / 2));  // nobody notices it
  // Of a training whose length is known half may be spent before.
  CHECK(budget.grants(at(1, 199), 0.5));
  CHECK_FALSE(budget.grants(at(1, 198), 0.5));
  CHECK(budget.available(at(50, 50)) == 0.5);
  budget.charge(0.1);
  CHECK(budget.available(at(50, 50)) == 0.4);
  budget.close_window(10, 0.5);
  CHECK(budget.cost(1) == Approx(0.2));  // what it did take counts from then on
}

TEST_CASE("within a budget the first windows lie at halves of the interval, from its fourth on") {
  const auto steps = [](const Schedule& schedule, int64_t end) {
    std::vector<int64_t> found;
    for (int64_t step = 0; step < end; ++step)
      if (schedule.emits(step)) found.push_back(step);
    return found;
  };
  using Steps = std::vector<int64_t>;
  CHECK(steps({200, 4, -1, 0.01}, 601) == Steps{25, 50, 100, 200, 400, 600});
  CHECK(steps({200, 4, -1, 0}, 601) == Steps{3, 200, 400, 600});
  CHECK(steps({200, 4, 49, 0.01}, 50) == Steps{25, 49});
  CHECK(steps({200, 4, 9, 0.01}, 10) == Steps{9});          // a short run, by its length
  CHECK(steps({31, 4, -1, 0.01}, 63) == Steps{3, 31, 62});  // no room for a half
  CHECK(steps({32, 4, -1, 0.01}, 65) == Steps{16, 32, 64});
  CHECK(Schedule{200, 4, -1, 0.01}.first() == 25);
  CHECK(Schedule{200, 4, 9, 0.01}.first() == 9);
  for (const int64_t every : {32, 100, 199, 1000})
    for (const int64_t window : {1, 3, 4}) {
      const Schedule schedule{every, window, 777, 0.01};
      int64_t open = -1, emitted = 0;
      for (int64_t step = 0; step < 778; ++step) {
        if (schedule.opens_window(step)) open = step;
        if (!schedule.emits(step)) continue;
        ++emitted;
        // Each is a window of its own; the last may begin where another ends.
        if (step != 777) CHECK(step - open == window - 1);
        CHECK(schedule.observes(step));
      }
      CHECK(emitted >= 777 / every + 1);
    }
}

TEST_CASE("a window that took nothing says what the next one costs") {
  Budget budget(0.01);
  CHECK_FALSE(budget.knows_cost());
  budget.charge(0);
  budget.close_window(3);
  CHECK(budget.knows_cost());
  CHECK(budget.cost(5) == 0);
}

TEST_CASE("a budget waits until what a window is known to need fits") {
  Budget budget(0.1);
  budget.charge(1);
  budget.close_window(0);
  CHECK(budget.grants(late(30)));
  CHECK_FALSE(budget.grants(late(30), 1, 5));
  CHECK(budget.grants(late(60), 1, 5));
}

TEST_CASE("over a long run a budget keeps its share, whatever a window costs") {
  Budget budget(0.02);
  double training = 0;
  for (int step = 0; step < 100000; ++step) {
    training += 0.01;
    if (step % 50 == 0 && budget.grants(late(training))) {
      budget.charge(step < 50000 ? 0.03 : 0.9);  // it becomes thirty times dearer on the way
      budget.close_window(0);
    }
  }
  // One window may be dearer than expected; after it the share holds again.
  CHECK(budget.spent() <= 0.02 * training + 0.9);
  CHECK(budget.spent() > 0.01 * training);
}

TEST_CASE("work costs what the last windows say, and a window may take the share of 200 steps") {
  Budget budget(0.01);
  CHECK_FALSE(budget.knows_cost());
  CHECK(budget.cost(5) == 0);
  budget.charge(1);
  budget.close_window(3, 0);  // it said nothing
  CHECK_FALSE(budget.knows_cost());
  CHECK(budget.grants(late(100)));  // within the share all the same
  CHECK_FALSE(budget.grants(late(99)));
  budget.charge(6);
  budget.close_window(3, 12);
  CHECK(budget.cost(4) == 2);
  CHECK(budget.window({.training_seconds = 1e6, .step_seconds = 1}) == 2);
  CHECK(budget.window({.training_seconds = 800, .step_seconds = 1}) ==
        1);            // 8 less the 7 that are spent
  budget.charge(0.5);  // cheaper: believed by halves
  budget.close_window(300, 4);
  CHECK(budget.cost(4) == 1);
  CHECK_FALSE(budget.grants(late(849), 4));
  CHECK(budget.grants(late(851), 4));
}

TEST_CASE("over any 200 steps after the first window a budget takes at most twice its share") {
  const double share = 0.01, step_seconds = 1, layer = 1.25;
  const int64_t layers = 40, every = 20;
  const int64_t silence = GENERATE(0, 10'000);  // steps without windows, which save up time
  CAPTURE(silence);
  for (const double surprise : {1.0, 1.9}) {  // what a window costs beside what is expected
    Budget budget(share);
    std::vector<double> spent(20'000);
    int windows = 0;
    for (int64_t step = 0; step < std::ssize(spent); ++step) {
      if (step % every != 0 || (step > 0 && step < silence)) continue;
      const Progress progress{step, static_cast<double>(step) * step_seconds, step_seconds};
      int64_t taken = 1;
      while (budget.knows_cost() && taken < layers &&
             budget.cost(static_cast<double>(taken + 1)) <= budget.window(progress))
        ++taken;
      const auto work = static_cast<double>(taken);
      if (!budget.grants(progress, work)) continue;
      const double cost = layer * work * (windows % 5 == 4 ? surprise : 1);
      ++windows;
      budget.charge(cost);
      budget.close_window(step, work);
      if (step > 0) spent[static_cast<std::size_t>(step)] = cost;
    }
    CHECK(windows > 50);
    double in_span = 0, most = 0;
    for (std::size_t step = 0; step < spent.size(); ++step) {
      in_span += spent[step];
      if (step >= 200) in_span -= spent[step - 200];
      most = std::max(most, in_span);
    }
    CHECK(most > 0);
    CHECK(most <= 2 * share * 200 * step_seconds);
  }
}

TEST_CASE("a window that cannot be parted and takes more has 200 steps to itself") {
  Budget budget(0.01);
  budget.charge(1);
  budget.close_window(0);
  const double rich = 1e6;
  CHECK_FALSE(budget.grants({199, rich, 0.1}));
  CHECK(budget.grants({200, rich, 0.1}));
  budget.charge(1);
  budget.close_window(200);
  CHECK_FALSE(budget.grants({399, rich, 0.1}));
  CHECK(budget.grants({400, rich, 0.1}));
  CHECK(budget.grants({201, rich, 1}));  // 200 steps of 1 s: twice the share is 4 s
}

TEST_CASE("no budget means no limit") {
  Budget budget(0);
  budget.charge(1e9);
  budget.close_window(0);
  CHECK(budget.grants(late(0)));
}
