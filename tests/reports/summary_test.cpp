// SPDX-License-Identifier: Apache-2.0
#include "reports/summary.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "reports/html/parts/glossary.h"
#include "reports/html/parts/summary.h"
#include "reports/runs/layer_names.h"
#include "reports/sample_run.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

using Catch::Contains;

struct Content {
  std::vector<store::Scalar> scalars{};  ///< of the last step
  std::vector<double> losses{};          ///< training losses, one a step
  store::Facts facts{};
  std::int64_t steps = 1000;
};

/// A finished run of `steps` steps.
std::filesystem::path write(const std::filesystem::path& dir, const Content& content) {
  auto facts = content.facts;
  facts.emplace_back("label", dir.filename().string());
  auto run = store::RunWriter::create(dir, facts);
  for (std::size_t i = 0; i < content.losses.size(); ++i) {
    store::Snapshot snapshot;
    snapshot.step = static_cast<std::int64_t>(i);
    snapshot.scalars = {sample::plain("loss/train", "", content.losses[i])};
    run.write(snapshot);
  }
  store::Snapshot last;
  last.step = content.steps - 1;
  last.scalars = content.scalars;
  run.write(last);
  run.set_state("finished");
  return dir;
}

Summary summary_of(const Content& content) {
  const TemporaryFolder folder;
  return summarise(read_arms({write(folder / "one", content)}));
}

const Answer& answer(const Summary& summary, const std::string& id) {
  const auto found = std::ranges::find(summary.answers, id, &Answer::id);
  REQUIRE(found != summary.answers.end());
  return *found;
}

/// 300 losses around one, with ten times that at step 200.
std::vector<double> spiky(double height) {
  std::vector<double> losses;
  for (int i = 0; i < 300; ++i) losses.push_back(1 + 0.01 * std::sin(7.0 * i));
  losses[200] = height;
  return losses;
}

}  // namespace

TEST_CASE("the worst layer is judged by the steps that gradient descent needs", "[summary]") {
  const auto of = [](double kappa, store::Status status = store::Status::kResolved) {
    return answer(
        summary_of({.scalars = {sample::scalar("kappa/second_moment", "a", 3, 0.1),
                                sample::scalar("kappa/second_moment", "b", kappa, 0.1, status)}}),
        "worst_layer");
  };
  // κ/2 steps against 1,000: ten times as many are good, as many are to be watched.
  CHECK(of(200).grade == Grade::kGood);
  CHECK(of(202).grade == Grade::kWatch);
  CHECK(of(2000).grade == Grade::kWatch);
  CHECK(of(2002).grade == Grade::kBad);
  CHECK(of(2002).answer == "b");
  CHECK_THAT(of(2002).why, Contains("about κ/2 = 1,001 steps") && Contains("the run has 1,000"));
}

TEST_CASE("a layer is called by what tells it from the others, and in full below", "[summary]") {
  const LayerNames names(std::vector<std::string>{"model.layers.9.mlp.down_proj",
                                                  "model.layers.10.mlp.down_proj",
                                                  "model.layers.1.mlp.down_proj"});
  CHECK(names("model.layers.10.mlp.down_proj") == "layers.10");
  CHECK(names("model.layers.9.mlp.down_proj") == "layers.9");
  CHECK(names("head") == "head");
  const LayerNames blocks(std::vector<std::string>{"blocks.1.down_proj", "blocks.11.down_proj"});
  CHECK(blocks("blocks.11.down_proj") == "blocks.11");
  const LayerNames apart(std::vector<std::string>{"encoder.0.wo", "decoder.0.wo"});
  CHECK(apart("encoder.0.wo") == "encoder");
  const LayerNames one(std::vector<std::string>{"model.layers.0.mlp.down_proj"});
  CHECK(one("model.layers.0.mlp.down_proj") == "model.layers.0.mlp.down_proj");
  const LayerNames nested(std::vector<std::string>{"a.b", "a.b.a.b"});
  CHECK(nested("a.b") != nested("a.b.a.b"));
  const auto found = answer(
      summary_of({.scalars = {sample::scalar("kappa/second_moment", "m.blocks.0.down", 3, 0.1),
                              sample::scalar("kappa/second_moment", "m.blocks.1.down", 9, 0.1)}}),
      "worst_layer");
  CHECK(found.answer == "blocks.1");
  CHECK_THAT(found.why, Contains("Its module: m.blocks.1.down."));
}

TEST_CASE("a worst layer that is not resolved is named and not graded by its value", "[summary]") {
  const auto of = [](double lower) {
    auto kappa = sample::scalar("kappa/sigma", "b", 1e5, 0.1, "not_resolvable");
    auto moment = kappa;
    moment.name = "kappa/second_moment";
    moment.lower = lower;
    moment.upper = std::numeric_limits<double>::infinity();
    return answer(summary_of({.scalars = {kappa, moment}}), "worst_layer");
  };
  CHECK(of(20).grade == Grade::kOpen);
  CHECK(of(20).answer == "b");
  CHECK(of(20).readings.front().number == "κ is at least 20");
  CHECK_THAT(of(20).why, Contains("probes.window"));
  // Even the lower bound is too much.
  CHECK(of(3000).grade == Grade::kBad);
  CHECK_THAT(of(3000).why, Contains("at least κ/2 = 1,500"));
}

TEST_CASE("spikes that batches make are no sign of the rate, those of a training that breaks are",
          "[summary]") {
  // Losses of batches that fall from 2.3, whose scatter is a power law: find_spikes() finds some in
  // nearly every run. Of runs of 1,500 losses 0.7 % may be taken for ones that break: more than 3
  // of 15 less often than once in 100,000.
  std::mt19937_64 random(4);
  std::exponential_distribution<> scatter(6);
  int with_spikes = 0, healthy = 0, broken = 0;
  for (int run = 0; run < 15; ++run) {
    Content content{.steps = 1500};
    for (int i = 0; i < 1500; ++i)
      content.losses.push_back((0.2 + 2.1 * std::exp(-i / 100.0)) * std::exp(scatter(random)));
    const auto calm = answer(summary_of(content), "learning_rate");
    with_spikes += calm.readings.front().number.starts_with("no spike") ? 0 : 1;
    healthy += calm.grade == Grade::kGood ? 1 : 0;
    for (std::size_t i = 1200; i < 1230; ++i) content.losses[i] *= 20;
    broken += answer(summary_of(content), "learning_rate").answer == "perhaps" ? 1 : 0;
  }
  CHECK(with_spikes > 12);
  CHECK(healthy >= 12);
  CHECK(broken == 15);
}

TEST_CASE("the rate is judged by the loss, and by 2/rate for plain gradient descent alone",
          "[summary]") {
  const auto of = [](const std::string& optimizer, double lambda, double height) {
    return answer(
        summary_of({.scalars = {sample::scalar("hessian/lambda_1", "", lambda, 0.01, "converged"),
                                sample::plain("learning_rate", "", 0.1)},
                    .losses = spiky(height),
                    .facts = {{"optimizer", optimizer}}}),
        "learning_rate");
  };
  CHECK(of("sgd", 19, 1).grade == Grade::kGood);
  CHECK(of("sgd", 21, 1).grade == Grade::kWatch);
  CHECK(of("adam", 21, 1).grade == Grade::kGood);
  CHECK_THAT(of("adam", 21, 1).why, Contains("was not measured"));
  CHECK(of("adam", 1, 10).grade == Grade::kWatch);
  CHECK(of("adam", 1, 10).readings.front().number == "1 spike of the loss, the first at step 200");
  CHECK(answer(summary_of({}), "learning_rate").grade == Grade::kOpen);
  // Runs of version 0.2 stored NaN for a loss that nobody told them.
  const auto untold =
      answer(summary_of({.losses = std::vector<double>(600, std::nan(""))}), "learning_rate");
  CHECK(untold.grade == Grade::kOpen);
  CHECK(untold.readings.front().number == "no loss was stored");
  // What the optimiser sees decides, where it was measured.
  const auto seen = [](double lambda) {
    return answer(
        summary_of(
            {.scalars = {sample::scalar("hessian/lambda_1", "", 1000, 0.01, "converged"),
                         sample::scalar("hessian/preconditioned", "", lambda, 0.01, "converged"),
                         sample::plain("hessian/stability_limit", "", 380),
                         sample::plain("learning_rate", "", 0.1)},
             .losses = spiky(1),
             .facts = {{"optimizer", "adam"}}}),
        "learning_rate");
  };
  CHECK(seen(379).grade == Grade::kGood);
  CHECK(seen(400).grade == Grade::kWatch);
  CHECK(seen(400).answer == "at its limit");
  CHECK(seen(400).readings.front().interval ==
        "sees λ1 = 400, 105 % of its limit = 380 at step 999");
}

TEST_CASE("a loss that is no number is the headline and makes the rate too high", "[summary]") {
  const TemporaryFolder folder;
  const auto summary = summarise(read_arms({write_sample_run(folder / "a", {.nan_loss = true})}));
  CHECK(summary.headline == "The loss stopped being a number: no bias at step 1500.");
  CHECK(answer(summary, "learning_rate").grade == Grade::kBad);
}

TEST_CASE("the bias helped where the interval says so in every layer", "[summary]") {
  struct Layer {
    std::string name;
    double with = 0, without = 0;
  };
  const auto of = [](const std::vector<Layer>& layers) {
    Content content;
    for (const auto& layer : layers) {
      content.scalars.push_back(sample::scalar("kappa/with_bias", layer.name, layer.with, 0.1));
      content.scalars.push_back(
          sample::scalar("kappa/second_moment", layer.name, layer.without, 0.1));
      content.scalars.push_back(sample::plain("bias/residual", layer.name, 0.5));
    }
    return answer(summary_of(content), "bias");
  };
  CHECK(of({{"a", 50, 100}, {"b", 60, 100}}).answer == "yes");
  CHECK(of({{"a", 50, 100}, {"b", 95, 100}}).answer == "yes, in part");  // within its interval
  CHECK(of({{"a", 50, 100}, {"b", 200, 100}}).answer == "mixed");
  CHECK(of({{"a", 200, 100}}).answer == "no");
  CHECK(of({{"a", 95, 100}}).grade == Grade::kOpen);
  const auto mixed = of({{"a", 50, 100}, {"b", 400, 100}});
  CHECK(mixed.readings.front().number == "it changes κ(Σ+μμᵀ) most in b: to 4× of it");
  CHECK_THAT(mixed.readings.front().interval, Contains("of 2 layers 1 lower and 1 higher"));
  CHECK_THAT(of({{"a", 95, 100}}).readings.front().interval,
             Contains("none of 1 layer beyond its interval"));
  const auto none =
      answer(summary_of({.scalars = {sample::scalar("kappa/sigma", "a", 10, 0.1),
                                     sample::scalar("kappa/second_moment", "a", 400, 0.1)}}),
             "bias");
  CHECK(none.answer == "no arm has one");
  CHECK(none.readings.front().number == "the mean costs 40× in a");
}

TEST_CASE("the cost is judged by its share and by its budget", "[summary]") {
  const auto of = [](double share, const std::string& budget) {
    auto features = sample::plain("cost/features", "", share);
    features.attributes = {{"budget", budget}};
    return answer(summary_of({.scalars = {features, sample::plain("cost/total", "", share)}}),
                  "cost");
  };
  CHECK(of(0.019, "0.005").grade == Grade::kGood);
  CHECK(of(0.05, "0.03").grade == Grade::kGood);  // what was asked for
  CHECK(of(0.05, "0.01").grade == Grade::kWatch);
  CHECK(of(0.11, "0").grade == Grade::kBad);
  CHECK_THAT(of(0.11, "0").why, Contains("Most of it is features (11 %)") && Contains("No limit"));
}

TEST_CASE("the facts stand in a line, what differs side by side, data without their folder",
          "[summary]") {
  const TemporaryFolder folder;
  const auto run = [&](const char* name, const char* parameters) {
    return write(folder / name,
                 {.scalars = {sample::plain("learning_rate", "", 0.01)},
                  .facts = {{"data", "/a/b.txt (5 training, 2/3 test windows)"},
                            {"model", "gated MLP"},
                            {"optimizer", "adam"},
                            {"parameters", parameters},
                            {"seed", "3"}}});
  };
  CHECK(
      summarise(read_arms({run("a", "1000"), run("b", "2000")})).facts ==
      "gated MLP · 1,000 parameters / 2,000 parameters · adam · rate 0.01 · 1,000 steps · seed 3 · "
      "b.txt (5 training, 2/3 test windows)");
}

TEST_CASE("losses of different problems are not compared", "[summary]") {
  const TemporaryFolder folder;
  const auto loss = sample::plain("loss/test", "", 1);
  const auto a = write(folder / "a", {.scalars = {loss}, .facts = {{"data", "x"}}});
  const auto b = write(folder / "b", {.scalars = {loss}, .facts = {{"data", "y"}}});
  const auto c = write(
      folder / "c", {.scalars = {sample::plain("loss/test", "", 0.5)}, .facts = {{"data", "x"}}});
  CHECK_THAT(summarise(read_arms({a, b})).headline, Contains("different problems"));
  CHECK(summarise(read_arms({a, c})).headline ==
        "One run an arm, so perhaps luck: c ends at test loss 0.5, 50 % lower than a (1).");
  CHECK_THAT(summarise(read_arms({a, c})).certainty, Contains("several seeds"));
  const auto longer =
      write(folder / "longer", {.scalars = {loss}, .facts = {{"data", "x"}}, .steps = 2000});
  CHECK_THAT(summarise(read_arms({a, longer})).certainty,
             Contains("They have trained for 2,000 and 1,000 steps."));
  // From the three digits of 0.999 beside 1 a reader would get 0.10 %.
  const auto d =
      write(folder / "d",
            {.scalars = {sample::plain("loss/test", "", 0.9987)}, .facts = {{"data", "x"}}});
  CHECK(summarise(read_arms({a, d})).headline ==
        "One run an arm, so perhaps luck: d ends at test loss 0.9987, 0.13 % lower than a "
        "(1.000).");
}

TEST_CASE("arms that cannot be compared yet say which of them it is for", "[summary]") {
  const TemporaryFolder folder;
  const auto run = [&](const std::string& name, std::vector<store::Scalar> scalars) {
    return write(folder / name, {.scalars = std::move(scalars), .facts = {{"data", "x"}}});
  };
  const auto a = run("a", {sample::plain("loss/test", "", 1)});
  const auto b = run("b", {}), c = run("c", {});
  CHECK(summarise(read_arms({a, b})).headline == "2 arms, not compared: b has no test loss.");
  CHECK(summarise(read_arms({a, b, c})).headline ==
        "3 arms, not compared: 2 of them have no test loss.");
  CHECK(summarise(read_arms({b, c})).headline == "2 arms, not compared: none has a test loss.");
}

TEST_CASE("the first screen shows each answer with its grade and two arms at most", "[summary]") {
  const TemporaryFolder folder;
  std::vector<std::filesystem::path> runs;
  for (const std::string name : {"a", "b", "c"}) {
    runs.push_back(write(folder / name,
                         {.scalars = {sample::scalar("kappa/second_moment", "layer", 30, 0.1)}}));
  }
  const auto arms = read_arms(runs);
  const auto html = summary_html(summarise(arms), arms);
  for (const char* id : {"worst_layer", "learning_rate", "bias", "cost", "trust"})
    CHECK_THAT(html, Contains(std::string("data-answer=\"") + id));
  CHECK_THAT(html, Contains("<span class=\"grade good\">good</span>"));
  CHECK_THAT(html, Contains("and 1 arm more"));
}

TEST_CASE("terms are explained once, code is code, and names stay text", "[summary]") {
  Explain explain;
  const auto first = explain("κ(Σ) and κ of W_d, `a < b`, Wide");
  CHECK_THAT(first, Contains("href=\"#term-kappa-sigma\"") && Contains(">κ(Σ)</a>"));
  CHECK_THAT(first, Contains("href=\"#term-kappa\"") && Contains("<code>a &lt; b</code>"));
  CHECK_THAT(explain("κ(Σ) <b>"), Contains("κ(Σ) &lt;b&gt;") && !Contains("href"));
  CHECK_THAT(Explain()("effective nation"), !Contains("href"));
  CHECK_THAT(glossary_html(), Contains("id=\"term-kappa-sigma\""));
}

}  // namespace kappascope::reports
