// SPDX-License-Identifier: Apache-2.0
#include "reports/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/number_format.h"
#include "reports/sample_run.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

const Finding* find(const std::vector<Finding>& findings, const std::string& id) {
  const auto found =
      std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.id == id; });
  return found == findings.end() ? nullptr : &*found;
}

std::string text_of(const std::vector<Finding>& findings, const std::string& id) {
  const Finding* found = find(findings, id);
  return found == nullptr ? "" : found->text + "|" + found->certainty;
}

/// A run of one snapshot at step 10.
std::vector<Arm> one_snapshot(const TemporaryFolder& folder,
                              const std::vector<store::Scalar>& scalars) {
  {
    auto run = store::RunWriter::create(folder / "one", {{"label", "one"}});
    store::Snapshot snapshot;
    snapshot.step = 10;
    snapshot.scalars = scalars;
    run.write(snapshot);
    run.set_state("finished");
  }
  return read_arms({folder / "one"});
}

}  // namespace

TEST_CASE("numbers read well in words", "[findings]") {
  CHECK(words(0) == "0");
  CHECK(words(3) == "3");
  CHECK(words(-1.5) == "−1.5");
  CHECK(words(39.96) == "40");
  CHECK(words(1234.4) == "1234");
  CHECK(words(15'400) == "1.54×10⁴");
  CHECK(words(1e-7) == "10⁻⁷");
  CHECK(words(9.9999e6) == "10⁷");
  CHECK(words(std::numeric_limits<double>::infinity()) == "∞");
  CHECK(words(std::nan("")) == "not a number");
  CHECK(percent(0.1234) == "12 %");
  CHECK(percent(0.0165) == "1.7 %");
  CHECK(percent(-0.4) == "−40 %");
  CHECK(percent(1e-9) == "under 0.01 %");
  CHECK(listed({"a", "b", "c"}) == "a, b and c");
}

TEST_CASE("what probes left out is one finding a reason with the first message", "[findings]") {
  const TemporaryFolder folder;
  {
    auto run = store::RunWriter::create(folder / "one", {{"label", "one"}});
    for (const std::int64_t step : {0, 20, 40}) {
      store::Snapshot snapshot;
      snapshot.step = step;
      snapshot.events.push_back({"hessian_budget", fmt::format("{} products", step)});
      if (step == 20) snapshot.events.push_back({"hessian_failed", "no curvature"});
      run.write(snapshot);
    }
    run.set_state("finished");
  }
  const auto findings = find_findings(read_arms({folder / "one"}));
  CHECK(text_of(findings, "hessian_budget") ==
        "one: the budget cut or put off the Hessian spectrum at step 0 and 2 times later.|"
        "0 products");
  CHECK(text_of(findings, "hessian_failed") ==
        "one: the Hessian spectrum could not be computed at step 20.|no curvature");
  CHECK(find(findings, "probe_skipped") == nullptr);
  CHECK(find(findings, "hessian_failed")->topic == "Reliability");  // no trouble of the training
}

TEST_CASE("the ratio of two kappas carries the interval that follows from theirs", "[findings]") {
  const TemporaryFolder folder;
  auto below = sample::scalar("kappa/sigma", "x", 10, 0.2);           // 8 to 12
  auto above = sample::scalar("kappa/second_moment", "x", 400, 0.1);  // 360 to 440
  const auto found = find_findings(one_snapshot(folder, {below, above}));
  CHECK(text_of(found, "kappa_ratio") ==
        "one: κ(Σ+μμᵀ) is 40× κ(Σ) in x, the layer where the mean costs most.|"
        "At least 90 %: 30–55× (from the two 95 % intervals, step 10).");
}

TEST_CASE("a ratio with an unresolved side is not invented", "[findings]") {
  const TemporaryFolder folder;
  auto below = sample::scalar("kappa/sigma", "x", 10, 0.2, "not_resolvable");
  auto above = sample::scalar("kappa/second_moment", "x", 400, 0.1);
  const auto found = find_findings(one_snapshot(folder, {below, above}));
  CHECK(text_of(found, "kappa_ratio").find("is not known") != std::string::npos);
  // Where the cost is known in steps, what κ does not say is no news.
  const TemporaryFolder other;
  const auto in_steps = find_findings(
      one_snapshot(other, {below, above, sample::scalar("learning/mean_costs", "x", 2, 0.1)}));
  CHECK(find(in_steps, "kappa_ratio") == nullptr);
  CHECK(find(in_steps, "learning_mean") != nullptr);
  CHECK(text_of(found, "unresolved").find("kappa/sigma of x: too few rows 1 of 1 times") !=
        std::string::npos);
  CHECK(find(found, "unresolved")->warning);
}

TEST_CASE("absorption is the share of the mean's length that is gone", "[findings]") {
  const TemporaryFolder folder;
  const auto found = find_findings(one_snapshot(folder,
                                                {sample::plain("bias/residual", "x", 0.88),
                                                 sample::plain("bias/residual", "y", 1.5),
                                                 sample::plain("bias/cos", "x", 0.5)}));
  CHECK(text_of(found, "absorption") ==
        "one: of the mean's length the bias has absorbed 12 % in x and none in y.|cos(b, −μ) = 0.5 "
        "in x and with b the mean is 1.5× as long in y.");
}

TEST_CASE("sizes are told where they are massive, and 8-bit formats where they lose",
          "[findings]") {
  const TemporaryFolder folder;
  const auto median = sample::scalar("magnitude/median", "x", 0.2, 0.05);
  const auto lost = sample::scalar("magnitude/lost_e4m3", "x", 0.12, 0.1);
  const auto found =
      find_findings(one_snapshot(folder,
                                 {sample::plain("magnitude/largest", "x", 420),
                                  median,
                                  lost,
                                  sample::plain("magnitude/lost_mxfp8", "x", 0.004)}));
  CHECK(text_of(found, "massive_activations") ==
        "one: the largest activation of x, 420, is 2100× the median: massive activations, which "
        "low-precision formats and pruning must spare.|95 %: 2000–2211 (step 10).");
  CHECK(text_of(found, "eight_bit") ==
        "one: FP8 (e4m3) with one scale for the tensor would round 12 % of the features ≠ 0 of x "
        "to zero; with a scale for every 32 channels (MXFP8) 0.40 %.|95 %: 11 %–13 % (step 10). "
        "It matters where this layer is to run in FP8.");
}

TEST_CASE("sharpness is compared with the learning rate of its own step", "[findings]") {
  const TemporaryFolder folder;
  auto lambda = sample::scalar("hessian/lambda_1", "", 50, 0.01, "converged");
  auto rate = sample::plain("learning_rate", "", 0.1);
  const auto found = find_findings(one_snapshot(folder, {lambda, rate}));
  CHECK(
      text_of(found, "sharpness") ==
      "one: the sharpness λ1 reached 250 % of 2/learning rate (50 of 20, step 10). It stood above "
      "that limit at step 10 first.|Residual bound: 49.5 to 50.5. Measured at 1 of 11 steps (10), "
      "constant rate; not from step 0 to 9, the longest stretch without. The limit is that of "
      "plain gradient descent; Adam has another.");
}

TEST_CASE("an eigenvalue whose error is as large as itself is no headline", "[findings]") {
  const TemporaryFolder folder;
  auto lambda = sample::scalar("hessian/lambda_1", "", 0.4, 0.01, "max_products");
  lambda.lower = -1;
  lambda.upper = 1.8;
  const auto found = find_findings(one_snapshot(folder, {lambda}));
  CHECK(find(found, "sharpness")->warning);
  CHECK(find(found, "sharpness")->text ==
        "one: the sharpness λ1 at step 10 is not resolved: its error is as large as itself.");
}

TEST_CASE("what the optimiser sees stands beside its own limit", "[findings]") {
  const TemporaryFolder folder;
  const auto found = find_findings(
      one_snapshot(folder,
                   {sample::scalar("hessian/lambda_1", "", 50, 0.01, "converged"),
                    sample::scalar("hessian/preconditioned", "", 190, 0.01, "converged"),
                    sample::plain("hessian/stability_limit", "", 380)}));
  CHECK_THAT(text_of(found, "sharpness"),
             Catch::StartsWith("one: the preconditioned sharpness reached 50 % of the optimiser's "
                               "stability limit (190 of 380, step 10). λ1 of the Hessian is 50 at "
                               "step 10.|Residual bound: 188 to 192."));
}

TEST_CASE("eigenvalues beyond the trace are told as what they are", "[findings]") {
  const TemporaryFolder folder;
  const auto found =
      find_findings(one_snapshot(folder,
                                 {sample::scalar("hessian/lambda_1", "", 50, 0.01, "converged"),
                                  sample::scalar("hessian/lambda_2", "", 30, 0.01, "converged"),
                                  sample::scalar("hessian/trace", "", 20, 0.01, "ok")}));
  CHECK(text_of(found, "sharpness")
            .find("The 2 largest eigenvalues sum to more than the trace: the negative "
                  "ones take away 60 at least.") != std::string::npos);
}

TEST_CASE("the choice of b is told where it helps and where it costs", "[findings]") {
  const TemporaryFolder folder;
  const auto at = [](const char* name, const char* layer, double value) {
    return sample::scalar(name, layer, value, 0.1);
  };
  const auto found = find_findings(one_snapshot(folder,
                                                {at("gradvar/b_zero", "a", 10),
                                                 at("gradvar/b_learned", "a", 10),
                                                 at("gradvar/b_minus_mean", "a", 6),
                                                 at("gradvar/b_minimiser", "a", 5),
                                                 at("gradvar/b_zero", "b", 10),
                                                 at("gradvar/b_minus_mean", "b", 21),
                                                 at("gradvar/b_minimiser", "b", 9)}));
  // Without a bias in training there is no learned one.
  CHECK(text_of(found, "bias_choice")
            .find("one: of that at b = 0, the gradient variance in a is 0.6× at b = −μ and "
                  "0.5× at the best b (the layer where a bias could save most). In b it is 2.1× "
                  "at b = −μ.") != std::string::npos);

  const auto close = find_findings(one_snapshot(TemporaryFolder(),
                                                {at("gradvar/b_zero", "a", 10),
                                                 at("gradvar/b_minimiser", "a", 5),
                                                 at("gradvar/b_zero", "b", 10),
                                                 at("gradvar/b_minimiser", "b", 5.5),
                                                 at("gradvar/b_zero", "c", 10),
                                                 at("gradvar/b_minimiser", "c", 9)}));
  CHECK(text_of(close, "bias_choice")
            .find("in a is 0.5× at the best b (the layer where a bias could save most, or as much "
                  "as 1 other layer: their intervals overlap).") != std::string::npos);
}

TEST_CASE("a spike of the loss is told with κ on both sides of it", "[findings]") {
  const TemporaryFolder folder;
  {
    auto run = store::RunWriter::create(folder / "one", {{"label", "one"}});
    for (std::int64_t step = 0; step < 300; ++step) {
      store::Snapshot snapshot;
      snapshot.step = step;
      const double calm = 1 + 0.01 * std::sin(7.0 * static_cast<double>(step));
      snapshot.scalars = {sample::plain("loss/train", "", step == 200 ? 5 : calm)};
      if (step == 190 || step == 210) {
        snapshot.scalars.push_back(
            sample::scalar("kappa/second_moment", "x", step == 190 ? 30 : 90, 0.1));
      }
      run.write(snapshot);
    }
    run.set_state("finished");
  }
  const auto found = find_findings(read_arms({folder / "one"}));
  CHECK(text_of(found, "spikes")
            .find("1 spike of the training loss, the highest at step 200 (5 "
                  "where 1") != std::string::npos);
  CHECK(text_of(found, "spikes")
            .find("κ of the W_d block went from 30 to 90 in x (steps 190 and "
                  "210)") != std::string::npos);
}

TEST_CASE("what belongs to no probe completes the cost", "[findings]") {
  const TemporaryFolder folder;
  const auto found = find_findings(one_snapshot(
      folder, {sample::plain("cost/features", "", 0.02), sample::plain("cost/total", "", 0.05)}));
  CHECK(text_of(found, "cost").find("features 2.0 % and hooks and storing 3.0 %.") !=
        std::string::npos);
}

TEST_CASE("a loss that is no number is told with its step and the kappa before it", "[findings]") {
  const TemporaryFolder folder;
  const auto found = find_findings(read_arms({write_sample_run(folder / "a", {.nan_loss = true})}));
  REQUIRE(!found.empty());
  CHECK(found.front().id == "nan_loss");
  CHECK(found.front().warning);
  CHECK(found.front().text == "no bias: the loss became NaN or infinite at step 1500.");
  CHECK(found.front().certainty.find("before it (step 1470)") != std::string::npos);
  CHECK(find(found, "unfinished") != nullptr);
}

TEST_CASE("the sample runs give the approved findings", "[findings]") {
  const TemporaryFolder folder;
  const auto found = find_findings(
      read_arms({write_sample_run(folder / "a"),
                 write_sample_run(folder / "b", {.label = "post-gating bias", .bias = true})}));
  std::string approved;
  for (const Finding& one : found) approved += one.topic + ": " + one.id + "\n";
  CHECK(approved ==
        "Loss: test_loss\n"
        "Conditioning: arm_kappa\nConditioning: kappa_ratio\nConditioning: kappa_ratio\n"
        "Conditioning: kappa_left\n"
        "Bias: absorption\nBias: bias_choice\nBias: bias_choice\n"
        "Curvature: sharpness\nCurvature: sharpness\n"
        "Curvature: spectrum\nCurvature: spectrum\n"
        "Features and weights: massive_activations\nFeatures and weights: massive_activations\n"
        "Features and weights: alignment\nFeatures and weights: alignment\n"
        "Features and weights: eight_bit\nFeatures and weights: eight_bit\n"
        "Features and weights: lost_updates\nFeatures and weights: lost_updates\n"
        "Features and weights: attention_logits\nFeatures and weights: attention_logits\n"
        "Lemma 2: gradient_variance\nLemma 2: gradient_variance\n"
        "Reliability: unresolved\nReliability: unresolved\n"
        "Reliability: broken_features\nReliability: broken_features\n"
        "Cost: cost\nCost: cost\n");
  CHECK(text_of(found, "test_loss").find("One seed per arm: the difference may be chance.") !=
        std::string::npos);
  CHECK(text_of(found, "gradient_variance").find("42 % of the measured gradient variance") !=
        std::string::npos);
  CHECK(text_of(found, "gradient_variance").find("in 0 of 3 layers") != std::string::npos);
  CHECK(text_of(found, "bias_choice").find("0.6× at the best b") != std::string::npos);
  CHECK(text_of(found, "cost") ==
        "no bias: probing took 1.7 % of the training time.|feature_moments 0.90 % and hessian "
        "0.75 %. Without the probes a step took 0.05 s at the end.");
  CHECK(text_of(found, "lost_updates").find("in 1 of 3 layers a step leaves most of the weights") !=
        std::string::npos);
  // Only the arm that was told to says that no budget held.
  std::string costs;
  for (const Finding& one : found) {
    if (one.id == "cost") costs += one.certainty + "|";
  }
  const auto told = costs.find("without a time limit (probes.budget = 0).|");
  REQUIRE(told != std::string::npos);
  CHECK(told > costs.find('|'));
  CHECK(costs.rfind("without a time limit") == told);
}

}  // namespace kappascope::reports
