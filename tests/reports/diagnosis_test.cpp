// SPDX-License-Identifier: Apache-2.0
#include "reports/diagnosis/diagnosis.h"

#include <algorithm>
#include <map>
#include <random>

#include "reports/diagnosis/questions.h"
#include "reports/written_run.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

/// One answer of a run, without what points into it.
Diagnosis answer_of(Question question, const Content& content) {
  const TemporaryFolder folder;
  const auto arms = read_arms({write(folder / "run", content)});
  const auto all = diagnose(arms.front()).all();
  return *std::ranges::find(all, question, &Diagnosis::question);
}

bool rests_on(const Diagnosis& answer, const char* series, const char* layer, std::int64_t step) {
  if (answer.evidence.empty()) return false;
  const auto& first = answer.evidence.front();
  return first.series == series && first.layer == layer && first.step == step;
}

store::Scalar between(const char* name, const char* layer, double lower, double upper) {
  auto out = sample::scalar(name, layer, (lower + upper) / 2, 0.1);
  out.lower = lower;
  out.upper = upper;
  return out;
}

}  // namespace

TEST_CASE("a layer limits a run that is surely shorter than what it needs", "[diagnosis]") {
  const auto of = [](store::Scalar scalar, bool resolved = true, std::int64_t measured = -1) {
    if (!resolved) scalar.status = store::Status::kNotResolvable;
    return answer_of(
        Question::kWorstLayer,
        {.scalars = {between(scalar.name.c_str(), "a", 2, 3), scalar}, .measured = measured});
  };
  // Against 1,000 steps: a third of them to learn 90 %; κ/2 for a factor e, ten of which are well.
  for (const auto& [series, limit, good] :
       {std::tuple("learning/second_moment", 1000.0, 1000 / 3.0),
        std::tuple("kappa/second_moment", 2000.0, 200.0)}) {
    CAPTURE(series);
    const auto at = [&](double lower, double upper, bool resolved = true) {
      return of(between(series, "b", lower, upper), resolved);
    };
    CHECK(at(good * 0.8, good * 0.99).grade == Grade::kGood);
    CHECK(at(good * 0.8, good * 1.01).grade == Grade::kWatch);
    CHECK(at(good * 0.8, good * 1.01).verdict == Verdict::kFine);
    CHECK(at(limit * 0.8, limit * 0.99).verdict == Verdict::kFine);
    CHECK(at(limit * 0.8, limit * 0.99).grade == Grade::kWatch);
    CHECK(at(limit * 0.99, limit * 1.2).grade == Grade::kWatch);
    CHECK(at(limit * 0.99, limit * 1.2).verdict == Verdict::kLimits);
    const auto bad = at(limit * 1.01, limit * 1.21);
    CHECK(bad.verdict == Verdict::kLimits);
    CHECK(bad.grade == Grade::kBad);
    CHECK(*bad.value == Approx(limit * 1.11));
    CHECK(*bad.lower == Approx(limit * 1.01));
    CHECK(*bad.threshold == Approx(limit));
    CHECK(rests_on(bad, series, "b", 999));
    // What is not resolved decides by its ends alone.
    CHECK(at(20, 1e9, false).verdict == Verdict::kUndecided);
    CHECK_FALSE(at(20, 1e9, false).value);
    CHECK(at(limit * 1.5, 1e9, false).grade == Grade::kBad);
    // Nor is it the worst for an estimate that its rows do not carry.
    CHECK(rests_on(at(1, 1e9, false), series, "a", 999));
    CHECK(of(between(series, "b", 1e5, 2e5), true, 99).verdict == Verdict::kLimits);
    CHECK(of(between(series, "b", 1e5, 2e5), true, 98).verdict == Verdict::kTooEarly);
  }
  CHECK(answer_of(Question::kWorstLayer, {}).verdict == Verdict::kNotMeasured);
}

TEST_CASE("the rate is judged over the whole training and by the error bars", "[diagnosis]") {
  // The rate falls along a cosine: what was over the limit at its peak is far below it at the end.
  std::mt19937 random(3);
  const auto drawn = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  std::map<Verdict, int> seen;
  for (int draw = 0; draw < 60; ++draw) {
    const bool adam = draw % 2 == 0;
    const std::int64_t steps = 100 + draw, every = std::int64_t(drawn(3, 40));
    const double worst = drawn(0.7, 1.3);
    const TemporaryFolder folder;
    auto run = store::RunWriter::create(folder / "run", {{"optimizer", adam ? "adam" : "sgd"}});
    bool above = false, undecided = false;
    std::map<std::int64_t, double> shares;
    std::vector<store::Snapshot> snapshots;
    for (std::int64_t step = 0; step < steps; ++step) {
      const double t = static_cast<double>(step) / static_cast<double>(steps);
      const double rate = 0.05 * (1.001 + std::cos(3.141592653589793 * t));
      const double limit = (adam ? 38 : 2) / rate;
      store::Snapshot snapshot{.step = step};
      snapshot.scalars = {sample::plain("loss/train", "", 1),
                          sample::plain("learning_rate", "", rate)};
      if (step % every == 1) {
        // A sharpness that stands still, as high as `worst` of the lowest limit.
        const double lambda = worst * (adam ? 38 : 2) / 0.10005, error = drawn(0, 0.2);
        const char* name = adam ? "hessian/preconditioned" : "hessian/lambda_1";
        snapshot.scalars.push_back(sample::scalar(name, "", lambda, error, "converged"));
        if (adam) snapshot.scalars.push_back(sample::plain("hessian/stability_limit", "", limit));
        shares[step] = lambda / limit;
        above = above || lambda * (1 - error) > limit;
        undecided = undecided || lambda * (1 + error) >= limit;
      }
      snapshots.push_back(std::move(snapshot));
    }
    run.write(snapshots);
    const auto arms = read_arms({folder / "run"});
    const auto found = diagnose_rate(arms.front());
    CAPTURE(draw, every, worst);
    CHECK(found.verdict == (above       ? Verdict::kAtLimit
                            : undecided ? Verdict::kUndecided
                                        : Verdict::kFine));
    CHECK(found.grade == (above ? Grade::kWatch : undecided ? Grade::kOpen : Grade::kGood));
    CHECK((found.action == Action::kLowerRate) == above);
    CHECK(*found.value / *found.threshold == Approx(shares.at(found.evidence.front().step)));
    CHECK((!above || *found.lower > *found.threshold));
    ++seen[found.verdict];
  }
  CHECK(seen.size() == 3);
}

TEST_CASE("a sharpness that is not resolved decides where its interval lies on one side",
          "[diagnosis]") {
  const auto of = [](double lower, double upper, const char* status = "max_products") {
    auto sharpness = sample::plain("hessian/preconditioned", "", (lower + upper) / 2);
    sharpness.lower = lower, sharpness.upper = upper,
    sharpness.status = store::Status::parse(status);
    return answer_of(Question::kLearningRate,
                     {.scalars = {sharpness, sample::plain("hessian/stability_limit", "", 100)},
                      .losses = std::vector<double>(10, 1)});
  };
  CHECK(of(-60, 63).verdict == Verdict::kFine);
  CHECK(*of(-60, 63).value == 63);  // all that is known
  CHECK(of(101, 190).verdict == Verdict::kAtLimit);
  CHECK(*of(101, 190).value == 101);
  CHECK(of(50, 150).verdict == Verdict::kUndecided);
  CHECK(of(-60, 63, "uncertified").verdict == Verdict::kUndecided);
  CHECK(of(-60, 63, "inconsistent").verdict == Verdict::kUndecided);
}

TEST_CASE("2/rate is the limit of plain gradient descent alone; spikes tell of any",
          "[diagnosis]") {
  const auto of = [](const char* optimizer, double lambda, double height) {
    return answer_of(Question::kLearningRate,
                     {.scalars = {sample::scalar("hessian/lambda_1", "", lambda, 0.01, "converged"),
                                  sample::plain("learning_rate", "", 0.1)},
                      .losses = spiky(height),
                      .facts = {{"optimizer", optimizer}}});
  };
  CHECK(of("sgd", 19, 1).verdict == Verdict::kFine);
  CHECK(of("sgd", 20, 1).verdict == Verdict::kUndecided);
  CHECK(of("sgd", 21, 1).verdict == Verdict::kAtLimit);
  CHECK(*of("sgd", 21, 1).threshold == 20);
  CHECK(of("adam", 21, 1).verdict == Verdict::kFine);
  CHECK_FALSE(of("adam", 21, 1).threshold);
  CHECK(of("adam", 1, 10).verdict == Verdict::kSpikes);
  CHECK(rests_on(of("adam", 1, 10), "loss/train", "", 200));
  CHECK(answer_of(Question::kLearningRate, {}).verdict == Verdict::kNotMeasured);
  CHECK(answer_of(Question::kLearningRate, {.losses = {1, 1}}).verdict == Verdict::kUndecided);
  // Runs of version 0.2 stored NaN for a loss that nobody told them.
  CHECK(answer_of(Question::kLearningRate, {.losses = std::vector<double>(600, std::nan(""))})
            .verdict == Verdict::kNotMeasured);
  const TemporaryFolder folder;
  const auto broken = read_arms({write_sample_run(folder / "a", {.nan_loss = true})});
  const auto found = diagnose(broken.front()).rate;
  CHECK(found.grade == Grade::kBad);
  CHECK(found.action == Action::kCheckBatch);  // its sharpness stayed below the limit
  CHECK(rests_on(found, "loss/train", "", 1500));
}

TEST_CASE("a loss that ends far above where it began is no healthy one", "[diagnosis]") {
  const auto found = [](double first, double last, std::size_t steps = 200, std::size_t high = 0) {
    const TemporaryFolder folder;
    std::vector<double> losses(steps, last);
    losses.front() = first;
    for (std::size_t i = 0; i < high; ++i) losses[losses.size() - 1 - i] = 100 * last;
    return diagnose_rate(read_arms({write(folder / "run", {.losses = losses})}).front());
  };
  CHECK(found(2.3, 1e25).verdict == Verdict::kRose);
  CHECK(found(2.3, 1e25).grade == Grade::kBad);
  CHECK(found(2.3, 1e25).action.has_value());
  CHECK(found(2.3, 4.7).verdict == Verdict::kRose);
  CHECK_FALSE(found(2.3, 4.5).rise);
  // A policy's loss begins at zero and may grow.
  CHECK_FALSE(found(0, 0.9).rise);
  CHECK(found(0, 1.1).rise);
  // A spike at the end is judged as one; a few losses say nothing.
  CHECK_FALSE(found(2.3, 2, 200, 15).rise);
  CHECK_FALSE(found(2.3, 1e25, 15).rise);
}

TEST_CASE("spikes that batches make are no sign of the rate, those of a training that breaks are",
          "[diagnosis]") {
  // Losses of batches that fall from 2.3, whose scatter is a power law: find_spikes() finds some in
  // nearly every run. Of runs of 1,500 losses 0.7 % may be taken for ones that break: more than 3
  // of 15 less often than once in 100,000.
  std::mt19937_64 random(4);
  std::exponential_distribution<> scatter(6);
  int with_spikes = 0, healthy = 0, broken = 0;
  for (int run = 0; run < 15; ++run) {
    const TemporaryFolder folder;
    Content content{.steps = 1500};
    for (int i = 0; i < 1500; ++i)
      content.losses.push_back((0.2 + 2.1 * std::exp(-i / 100.0)) * std::exp(scatter(random)));
    const auto arms = read_arms({write(folder / "calm", content)});
    const auto calm = diagnose_rate(arms.front());
    with_spikes += calm.all_spikes > 0 ? 1 : 0;
    healthy += calm.grade == Grade::kGood ? 1 : 0;
    for (std::size_t i = 1200; i < 1230; ++i) content.losses[i] *= 20;
    broken += answer_of(Question::kLearningRate, content).verdict == Verdict::kSpikes ? 1 : 0;
  }
  CHECK(with_spikes > 12);
  CHECK(healthy >= 12);
  CHECK(broken == 15);
}

TEST_CASE("a bias is judged by what it surely changes, its absence by what the mean costs",
          "[diagnosis]") {
  // A layer as (lower, upper) of what the bias changes, or of what the mean costs.
  using Ends = std::pair<double, double>;
  const auto of = [](const std::vector<Ends>& layers, bool with, std::int64_t measured = -1) {
    Content content{.measured = measured};
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const auto layer = std::to_string(l);
      const auto add = [&](const char* name, Ends ends) {
        content.scalars.push_back(between(name, layer.c_str(), ends.first, ends.second));
      };
      add("learning/second_moment", {90, 110});
      add("learning/mean_costs", with ? Ends{0.9, 1.2} : layers[l]);
      if (!with) continue;
      add("learning/with_bias", {90, 110});
      add("learning/bias_changes", layers[l]);
    }
    return answer_of(Question::kBias, content);
  };
  const Ends less{0.5, 0.9}, even{0.9, 1.05}, more{1.2, 3};
  CHECK(of({less, less}, true).verdict == Verdict::kHelps);
  CHECK(of({less, even}, true).verdict == Verdict::kHelpsInPart);
  CHECK(of({less, more}, true).verdict == Verdict::kMixed);
  CHECK(of({more}, true).verdict == Verdict::kHarms);
  CHECK(of({more}, true).grade == Grade::kBad);
  CHECK(of({{1.02, 1.3}}, true).grade == Grade::kWatch);
  // What surely changes less than 10 %, whichever way, is not worth a change.
  for (const Ends& little : {Ends{1.01, 1.09}, Ends{0.95, 0.99}, Ends{0.92, 1.05}}) {
    CHECK(of({little}, true).verdict == Verdict::kNegligible);
    CHECK(of({little}, true).grade == Grade::kGood);
    CHECK(*of({little}, true).threshold > 1);
  }
  CHECK(of({{0.95, 0.99}, {0.8, 1.3}}, true).verdict == Verdict::kUndecided);
  CHECK(of({less, {0.95, 0.99}}, true).verdict == Verdict::kHelpsInPart);
  // It names the layer in which that is surest.
  CHECK(*of({less, {0.2, 0.4}, {0.1, 0.95}}, true).upper == 0.4);
  CHECK(*of({less, {0.2, 0.4}, even}, true).upper == 0.4);
  CHECK(*of({more, {1.5, 1.6}, {0.1, 0.2}}, true).lower == 1.5);
  CHECK(of({even}, true).grade == Grade::kOpen);
  CHECK(of({less}, true, 98).verdict == Verdict::kTooEarly);
  CHECK_FALSE(of({less, less}, true).action);
  const auto trial = of({even, more}, false);
  CHECK(trial.verdict == Verdict::kWorthATrial);
  CHECK(trial.grade == Grade::kWatch);
  CHECK(trial.action == Action::kTryBias);
  CHECK(rests_on(trial, "learning/mean_costs", "1", 999));
  CHECK(*trial.lower == 1.2);
  CHECK(of({less}, false).verdict == Verdict::kMeanHelps);
  CHECK(of({even}, false).verdict == Verdict::kNothingToGain);
  CHECK(of({{0.9, 1.2}}, false).verdict == Verdict::kUndecided);
  CHECK_FALSE(of({{0.9, 1.2}}, false).action);
  CHECK(of({more}, false, 98).verdict == Verdict::kTooEarly);
}

TEST_CASE("batch, scales, precision, dead units, cost and trust are decided by numbers",
          "[diagnosis]") {
  const auto batch = [](double lower, double upper) {
    auto critical = between("gradvar/critical_batch", "a", lower, upper);
    critical.n = 100;
    return answer_of(Question::kBatchSize, {.scalars = {critical}}).verdict;
  };
  CHECK(batch(201, 400) == Verdict::kTooSmall);
  CHECK(batch(199, 400) == Verdict::kUndecided);
  CHECK(batch(50, 199) == Verdict::kFine);
  CHECK(batch(1, 9) == Verdict::kTooLarge);
  CHECK(batch(1, 11) == Verdict::kUndecided);
  const auto scale = [](const char* optimizer, double scaled) {
    return answer_of(Question::kFeatureScale,
                     {.scalars = {sample::scalar("kappa/with_bias", "a", 1000, 0.1),
                                  sample::scalar("kappa/with_bias_scaled", "a", scaled, 0.1)},
                      .facts = {{"optimizer", optimizer}}})
        .verdict;
  };
  CHECK(scale("sgd", 20) == Verdict::kUneven);
  CHECK(scale("sgd", 250) == Verdict::kUndecided);
  CHECK(scale("sgd", 500) == Verdict::kFine);
  CHECK(scale("adam", 20) == Verdict::kFine);
  const auto count = [](Question question, const char* name, double value) {
    return answer_of(question, {.scalars = {sample::plain(name, "a", value)}}).verdict;
  };
  CHECK(count(Question::kPrecision, "features/nonfinite_rows", 1) == Verdict::kNonFinite);
  CHECK(count(Question::kPrecision, "features/outside_bfloat16", 1) == Verdict::kOutOfRange);
  CHECK(count(Question::kPrecision, "features/outside_bfloat16", 0) == Verdict::kFine);
  CHECK(count(Question::kDeadUnits, "features/dead", 1) == Verdict::kDead);
  CHECK(count(Question::kDeadUnits, "features/dead", 0) == Verdict::kFine);
  const auto dead = [](double of_b, double largest) {
    return answer_of(Question::kDeadUnits,
                     {.scalars = {sample::plain("features/dead", "a", 1),
                                  sample::plain("features/dead", "b", of_b),
                                  sample::plain("layer/width", "a", 100),
                                  sample::plain("magnitude/largest", "b", largest)}});
  };
  CHECK(dead(60, 2).verdict == Verdict::kDead);  // of a width that is not known
  CHECK(dead(60, 0).verdict == Verdict::kDeadLayer);
  CHECK(dead(60, 0).grade == Grade::kBad);
  CHECK(rests_on(dead(60, 0), "features/dead", "b", 999));
  const auto of_hundred = [](double dead_count) {
    return answer_of(Question::kDeadUnits,
                     {.scalars = {sample::plain("features/dead", "a", dead_count),
                                  sample::plain("layer/width", "a", 100)}})
        .verdict;
  };
  CHECK(of_hundred(49) == Verdict::kDead);
  CHECK(of_hundred(50) == Verdict::kDeadLayer);
  const auto massive = [](double largest, double lower, double upper) {
    return answer_of(Question::kMassive,
                     {.scalars = {sample::plain("magnitude/largest", "a", 99),
                                  between("magnitude/median", "a", 0.001, 0.002),
                                  sample::plain("magnitude/largest", "b", largest),
                                  between("magnitude/median", "b", lower, upper)}});
  };
  CHECK(massive(101, 0.05, 0.1).verdict == Verdict::kOutliers);
  CHECK(massive(101, 0.05, 0.102).verdict == Verdict::kUndecided);
  CHECK(massive(101, 0.102, 0.2).verdict == Verdict::kFine);
  CHECK(massive(100, 0.05, 0.1).verdict == Verdict::kFine);
  CHECK(rests_on(massive(101, 0.05, 0.1), "magnitude/largest", "b", 999));
  CHECK(*massive(101, 0.05, 0.1).lower == Approx(1010));
  // Half of the values are zero: the median says nothing.
  CHECK(answer_of(Question::kMassive,
                  {.scalars = {sample::plain("magnitude/largest", "a", 500),
                               between("magnitude/median", "a", 0, 0)}})
            .verdict == Verdict::kNotMeasured);
  const auto aligned = [](double value) {
    return answer_of(Question::kAlignment,
                     {.scalars = {sample::plain("weight/alignment_largest", "a", 0.3),
                                  sample::plain("weight/alignment_largest", "b", value)}});
  };
  CHECK(aligned(0.91).verdict == Verdict::kAligned);
  CHECK(rests_on(aligned(0.91), "weight/alignment_largest", "b", 999));
  CHECK(aligned(0.89).verdict == Verdict::kFine);
  const auto lost = [](double lower, double upper) {
    return answer_of(Question::kEightBit,
                     {.scalars = {between("magnitude/lost_e4m3", "a", 0, 0.005),
                                  between("magnitude/lost_e4m3", "b", lower, upper)}})
        .verdict;
  };
  CHECK(lost(0.011, 0.02) == Verdict::kLossy);
  CHECK(lost(0.009, 0.02) == Verdict::kUndecided);
  CHECK(lost(0.002, 0.009) == Verdict::kFine);
  const auto cost = [](double share, const char* budget) {
    auto features = sample::plain("cost/features", "", share);
    features.attributes = {{"budget", budget}};
    return answer_of(Question::kCost,
                     {.scalars = {features, sample::plain("cost/total", "", share)}})
        .grade;
  };
  CHECK(cost(0.019, "0.005") == Grade::kGood);
  CHECK(cost(0.05, "0.03") == Grade::kGood);  // what was asked for
  CHECK(cost(0.05, "0.01") == Grade::kWatch);
  CHECK(cost(0.11, "0") == Grade::kBad);
  const auto trust = [](int resolved) {
    Content content;
    for (int i = 0; i < 10; ++i) {
      content.scalars.push_back(
          sample::scalar("kappa/sigma",
                         std::to_string(i),
                         9,
                         0.1,
                         i < resolved ? store::Status::kResolved : store::Status::kBiased));
    }
    return answer_of(Question::kTrust, content);
  };
  CHECK(trust(9).grade == Grade::kGood);
  CHECK(trust(8).grade == Grade::kWatch);
  CHECK(trust(4).grade == Grade::kOpen);
  CHECK(*trust(8).value == 0.8);
}

}  // namespace kappascope::reports
