// SPDX-License-Identifier: Apache-2.0
#include "reports/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "reports/html/parts/gauge.h"
#include "reports/html/parts/glossary.h"
#include "reports/html/parts/summary.h"
#include "reports/runs/layer_names.h"
#include "reports/written_run.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

using Catch::Contains;

Summary summary_of(const Content& content) {
  const TemporaryFolder folder;
  return summarise(read_arms({write(folder / "one", content)}));
}

const Answer& answer(const Summary& summary, const std::string& id) {
  const auto found = std::ranges::find(summary.answers, id, &Answer::id);
  REQUIRE(found != summary.answers.end());
  return *found;
}

}  // namespace

TEST_CASE("a bias that surely changes little is said to do hardly anything, and where",
          "[summary]") {
  const auto card = [](double second_lower, double second_upper) {
    Content content;
    for (const std::string layer : {"a", "b"}) {
      auto changes = sample::plain("learning/bias_changes", layer, 0.97);
      changes.lower = layer == "a" ? 0.95 : second_lower;
      changes.upper = layer == "a" ? 0.99 : second_upper;
      content.scalars.push_back(changes);
      for (const auto* steps : {"learning/second_moment", "learning/with_bias"})
        content.scalars.push_back(sample::scalar(steps, layer, 100, 0.01));
    }
    return answer(summary_of(content), "bias");
  };
  const auto both = card(0.92, 1.05);
  CHECK(both.answer == "hardly");
  CHECK(both.grade == Grade::kGood);
  CHECK_THAT(both.readings.front().interval, Contains("of 2 layers 2 changed by less than 10 %"));
  CHECK_THAT(both.why, Contains("lower in 1 of 2 layers"));
  CHECK(card(0.8, 1.3).answer == "cannot tell");
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

TEST_CASE("cards phrase what was decided, with its numbers", "[summary]") {
  const auto kappa = [](double value, double lower, store::Status status) {
    auto moment = sample::scalar("kappa/second_moment", "b", value, 0.1, status);
    moment.lower = lower;
    return answer(summary_of({.scalars = {moment}}), "worst_layer");
  };
  const auto slow = kappa(2002, 2001, "resolved");
  CHECK(slow.answer == "b");
  CHECK_THAT(slow.why,
             Contains("about κ/2 = 2,002/2 = 1,001 steps") && Contains("the run has 1,000"));
  const auto open = kappa(1e5, 20, "not_resolvable");
  CHECK(open.answer == "perhaps b");
  CHECK(open.readings.front().number == "κ is at least 20");
  CHECK_THAT(open.why, Contains("probes.window"));
  CHECK_THAT(kappa(1e5, 3000, "not_resolvable").why,
             Contains("at least κ/2 = 3,000/2 = 1,500 steps"));
  const auto rate = [](double lambda, double height) {
    return answer(
        summary_of(
            {.scalars = {sample::scalar("hessian/preconditioned", "", lambda, 0.01, "converged"),
                         sample::plain("hessian/stability_limit", "", 380),
                         sample::plain("learning_rate", "", 0.1)},
             .losses = spiky(height),
             .facts = {{"optimizer", "adam"}}}),
        "learning_rate");
  };
  CHECK(rate(370, 10).readings.front().number == "1 spike of the loss, at step 200");
  CHECK(rate(300, 10).answer == "probably not");
  CHECK_THAT(rate(300, 10).why, Contains("speaks against the rate"));
  CHECK(rate(379, 1).answer == "cannot tell");
  CHECK(rate(400, 1).answer == "at its limit");
  CHECK(rate(400, 1).readings.front().interval ==
        "preconditioned sharpness = 400, 105 % of its limit = 380 at step 999");
  CHECK_THAT(rate(400, 1).why, Contains("Measured at 1 of 1,000 steps"));
  std::vector<double> losses(200, 30.0);
  losses.front() = 2.3;
  const auto rose = summary_of({.losses = losses});
  CHECK(rose.headline == "The training loss rose from 2.3 to 30.");
  CHECK(answer(rose, "learning_rate").answer == "probably");
  CHECK(answer(rose, "learning_rate").grade == Grade::kBad);
  CHECK(answer(rose, "learning_rate").readings.front().number ==
        "the training loss rose from 2.3 to 30");
  Content biased;
  for (const auto& [layer, with] : {std::pair("a", 50.0), std::pair("b", 400.0)}) {
    biased.scalars.push_back(sample::scalar("kappa/with_bias", layer, with, 0.1));
    biased.scalars.push_back(sample::scalar("kappa/second_moment", layer, 100, 0.1));
  }
  biased.scalars.push_back(sample::plain("bias/norm", "a", 1));
  biased.scalars.push_back(sample::plain("bias/norm", "b", 1));
  const auto mixed = answer(summary_of(biased), "bias");
  CHECK(mixed.answer == "mixed");
  CHECK(mixed.readings.front().number ==
        "within the run it changes κ(Σ+μμᵀ) most in b: to 4× of it");
  CHECK_THAT(mixed.readings.front().interval, Contains("of 2 layers 1 lower and 1 higher"));
  const auto none =
      answer(summary_of({.scalars = {sample::scalar("kappa/sigma", "a", 10, 0.1),
                                     sample::scalar("kappa/second_moment", "a", 400, 0.1)}}),
             "bias");
  CHECK(none.answer == "worth a trial");
  CHECK(none.readings.front().number == "the mean costs 40× in a");
  const auto cost = answer(summary_of({.scalars = {sample::plain("cost/features", "", 0.11),
                                                   sample::plain("cost/total", "", 0.11)}}),
                           "trust");
  CHECK_THAT(cost.why, Contains("Most of the cost is features (11 %)"));
  const auto against = [](const char* budget) {
    auto features = sample::plain("cost/features", "", 0.011);
    features.attributes = {{"budget", budget}};
    return answer(summary_of({.scalars = {features, sample::plain("cost/total", "", 0.011)}}),
                  "trust")
        .why;
  };
  CHECK_THAT(against("0.01"), Contains("The budget is exceeded"));
  CHECK_THAT(against("0.02"), !Contains("The budget is exceeded"));
}

TEST_CASE("a dead layer is the worst, and what is to be done about it comes first", "[summary]") {
  const auto summary = summary_of(
      {.scalars = {sample::scalar("learning/second_moment", "m.0.down", 100, 0.1),
                   sample::scalar("learning/second_moment", "m.1.down", NAN, 0.1, "degenerate"),
                   sample::plain("features/dead", "m.1.down", 384),
                   sample::plain("layer/width", "m.1.down", 384)}});
  const auto& worst = answer(summary, "worst_layer");
  CHECK(worst.question == "Which layer is worst?");
  CHECK(worst.answer == "m.1 is dead");
  CHECK(worst.grade == Grade::kBad);
  CHECK(worst.readings.front().number == "384 of 384 features are zero in every row at step 999");
  CHECK_THAT(worst.readings.at(1).number, Contains("100 steps in m.0"));
  const auto& next = answer(summary, "next_step");
  CHECK(next.answer == "a new start for m.1");
  CHECK_THAT(next.readings.front().number, Contains("because 384 of 384 features"));
  CHECK(answer(summary, "trust").answer == "the numbers are resolved");
  // Also where no learning time and no condition number is there.
  const auto alone = summary_of({.scalars = {sample::plain("features/dead", "a", 8),
                                             sample::plain("magnitude/largest", "a", 0)}});
  CHECK(answer(alone, "worst_layer").answer == "a is dead");
}

TEST_CASE("of a training that failed nothing is told but that", "[summary]") {
  std::vector<double> losses(200, 1e9);
  losses.front() = 2.3;
  const auto summary =
      summary_of({.scalars = {sample::scalar("learning/second_moment", "a", 100, 0.1),
                              sample::scalar("learning/mean_costs", "a", 3, 0.1)},
                  .losses = losses});
  CHECK(answer(summary, "worst_layer").answer == "cannot tell");
  CHECK(answer(summary, "bias").answer == "cannot tell");
  for (const auto* id : {"worst_layer", "bias"})
    for (const auto& reading : answer(summary, id).readings) CHECK_FALSE(reading.gauge);
  CHECK(answer(summary, "learning_rate").answer == "yes");  // a thousand times and more
}

TEST_CASE("a loss that is no number is the headline and makes the rate too high", "[summary]") {
  const TemporaryFolder folder;
  const auto summary = summarise(read_arms({write_sample_run(folder / "a", {.nan_loss = true})}));
  CHECK(summary.headline == "The loss stopped being a number at step 1500.");
  CHECK(answer(summary, "learning_rate").grade == Grade::kBad);
}

TEST_CASE("the slowest layer is one of those whose intervals reach as far", "[summary]") {
  const auto of = [](double second, double error) {
    return answer(
        summary_of({.scalars = {sample::scalar("learning/second_moment", "m.0.down", 100, 0.1),
                                sample::scalar("learning/second_moment", "m.1.down", second, error),
                                sample::scalar("learning/second_moment", "m.2.down", 10, 0.1)}}),
        "worst_layer");
  };
  CHECK(of(50, 0.1).answer == "m.0");
  const auto open = of(90, 0.1);
  CHECK(open.answer == "m.0 or m.1");
  CHECK(of(90, 0.9).answer == "m.0 or m.1");
  CHECK_THAT(open.why, Contains("overlaps that of 1 other layer"));
  CHECK(open.grade == Grade::kGood);
  CHECK(of(89.8, 0.001).answer == "m.0");  // just below
  const auto none = answer(
      summary_of({.scalars = {sample::scalar("learning/second_moment", "m.0.down", 100, 0.1),
                              sample::scalar("learning/second_moment", "m.1.down", 95, 0.1)}}),
      "worst_layer");
  CHECK(none.answer == "none stands out");
  CHECK_THAT(none.readings.front().number, Contains(" in m.0"));
}

TEST_CASE("layers that take turns say of which steps their numbers are", "[summary]") {
  const TemporaryFolder folder;
  const auto of = [&](const char* name, std::int64_t step) {
    {
      auto run = store::RunWriter::create(folder / name, {});
      const auto steps = [](const char* layer, double value) {
        return sample::scalar("learning/second_moment", layer, value, 0.1);
      };
      run.write({.step = 1200, .scalars = {steps("a", 30)}});
      run.write({.step = step, .scalars = {steps("b", 90)}});
    }
    return answer(summarise(read_arms({folder / name})), "worst_layer").why;
  };
  CHECK_THAT(of("turns", 1600), Contains("their numbers are of steps 1,200 to 1,600."));
  CHECK_THAT(of("together", 1200), !Contains("take turns"));
}

TEST_CASE("a training whose loss rose says little of its layers and of a bias", "[summary]") {
  const auto of = [](double last) {
    std::vector<double> losses(1000, 2.3);
    std::fill(losses.begin() + 100, losses.end(), last);
    return summary_of({.scalars = {sample::scalar("learning/second_moment", "b", 20, 0.1),
                                   sample::scalar("learning/sigma", "b", 10, 0.1),
                                   sample::scalar("learning/mean_costs", "b", 2, 0.1)},
                       .losses = losses});
  };
  for (const char* id : {"worst_layer", "bias"}) {
    CHECK(answer(of(1), id).grade != Grade::kOpen);
    CHECK(answer(of(100), id).grade == Grade::kOpen);
    CHECK_THAT(answer(of(100), id).why, Contains("The training loss rose"));
  }
  CHECK(answer(of(100), "next_step").answer == "a lower learning rate");
}

TEST_CASE("a loss that is no number far below the limit need not be the rate's doing",
          "[summary]") {
  const TemporaryFolder folder;
  const auto summary = summarise(read_arms({write_sample_run(folder / "a", {.nan_loss = true})}));
  const auto found = answer(summary, "learning_rate");
  CHECK(found.answer == "perhaps");
  CHECK(found.grade == Grade::kBad);
  CHECK_THAT(found.why, Contains("look first at the batch of that step"));
  CHECK_THAT(answer(summary, "next_step").readings.front().number,
             Contains("once more in float32"));
  const auto unknown =
      summarise(read_arms({write_sample_run(folder / "b", {.hessian = false, .nan_loss = true})}));
  CHECK(answer(unknown, "learning_rate").answer == "yes");
}

TEST_CASE("what asks for a change stands out first, with what to try, and what is open does not",
          "[summary]") {
  const TemporaryFolder folder;
  const auto found = [&](const std::vector<Arm>& arms) {
    return highlights(arms, find_findings(arms));
  };
  const auto failed =
      found(read_arms({write_sample_run(folder / "a", {.bias = true, .nan_loss = true})}));
  REQUIRE(failed.size() == 3);
  CHECK_THAT(failed[0].text, Contains("The loss is not finite from step 1500 on, and"));
  CHECK_THAT(failed[0].todo, Contains("Try the batch of that step once more in float32"));
  CHECK(failed[0].warning);
  CHECK(failed[0].figure == "hessian_eigenvalues");
  CHECK(failed[1].todo.empty());

  // Of two runs without a change to ask for: no loss, which is the headline's, and no cost that is
  // not known. The one number is told once.
  const auto kappa = [&](const char* name, store::Status status) {
    auto sigma = sample::scalar("kappa/sigma", "b", 3, 0.1, status);
    return write(folder / name,
                 {.scalars = {sigma,
                              sample::scalar("kappa/second_moment", "b", 3.1, 0.1),
                              sample::plain("loss/test", "", 1)},
                  .facts = {{"data", "d"}}});
  };
  const auto open = read_arms({kappa("open", store::Status::kNotResolvable)});
  CHECK(found(open).empty());
  const auto known = found(read_arms({kappa("known", store::Status::kResolved)}));
  REQUIRE(known.size() == 1);
  CHECK(known[0].figure == "kappa_costs");
  CHECK_THAT(known[0].certainty, Contains("90 %"));
  CHECK_FALSE(known[0].warning);
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
  CHECK(summarise(read_arms({run("a", "1000"), run("b", "2000")})).facts ==
        "gated MLP · 1,000 parameters / 2,000 parameters · b.txt (5 training, 2/3 test windows) · "
        "adam · rate 0.01 · 1,000 steps · seed 3");
}

TEST_CASE("losses of different problems are not compared", "[summary]") {
  const TemporaryFolder folder;
  const auto loss = sample::plain("loss/test", "", 1);
  const auto a = write(folder / "a", {.scalars = {loss}, .facts = {{"data", "x"}}});
  const auto b = write(folder / "b", {.scalars = {loss}, .facts = {{"data", "y"}}});
  const auto c = write(
      folder / "c", {.scalars = {sample::plain("loss/test", "", 0.5)}, .facts = {{"data", "x"}}});
  CHECK_THAT(summarise(read_arms({a, b})).headline, Contains("different problems"));
  CHECK(summarise(read_arms({a, c})).headline == "c ends at test loss 0.5, 50 % lower than a (1).");
  CHECK(summarise(read_arms({a, c})).basis == "one run per arm");
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
        "d ends at test loss 0.9987, 0.13 % lower than a (1.000).");
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
  const auto trained = [&](const char* name, double loss) {
    return write(folder / name, {.losses = std::vector<double>(100, loss)});
  };
  CHECK(summarise(read_arms({trained("d", 2.5), trained("e", 2.25)})).headline ==
        "Training losses end with d at 2.5 and e at 2.25.");
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
  for (const char* id : {"worst_layer", "learning_rate", "bias", "trust", "next_step"})
    CHECK_THAT(html, Contains(std::string("data-answer=\"") + id));
  CHECK_THAT(html, Contains("<span class=\"grade good\">good</span>"));
  CHECK_THAT(html, Contains("and 1 arm more"));
}

TEST_CASE("what to change is urgent or a trial, and not bad", "[summary]") {
  const auto shown = [](Grade grade) {
    const auto html = summary_html(
        {.answers = {{.id = "next_step", .grade = grade}, {.id = "bias", .grade = grade}}}, {});
    std::vector<std::string> words;
    for (auto at = html.find("<span class=\"grade "); at != std::string::npos;
         at = html.find("<span class=\"grade ", at + 1)) {
      const auto begin = html.find('>', at) + 1;
      words.push_back(html.substr(begin, html.find('<', begin) - begin));
    }
    return words;
  };
  using Words = std::vector<std::string>;
  CHECK(shown(Grade::kBad) == Words{"urgent", "bad"});
  CHECK(shown(Grade::kWatch) == Words{"a trial", "watch"});
  CHECK(shown(Grade::kOpen) == Words{"undecided", "cannot tell"});
  CHECK(shown(Grade::kGood) == Words{"good", "good"});
}

TEST_CASE("a bar shows value, interval and threshold on a log axis", "[summary]") {
  // The axis reaches a factor of 1.6 beyond 1 and 100.
  const auto place = [](double x) {
    const double margin = std::log(1.6);
    return fmt::format("{:.1f}%", 100 * (std::log(x) + margin) / (std::log(100) + 2 * margin));
  };
  const auto whole = gauge_html({.value = 10, .lower = 1, .upper = 20, .threshold = 100});
  CHECK_THAT(whole, Contains("class=\"value\" style=\"left:" + place(10)));
  CHECK_THAT(whole, Contains("class=\"threshold\" style=\"left:" + place(100)));
  CHECK_THAT(whole, Contains("class=\"interval\" style=\"left:" + place(1)));
  CHECK_THAT(whole, Contains("10, between 1 and 20, against 100"));
  // Beside one that reaches farther, it stands farther left on the same axis.
  const Gauge far{.value = 1e6, .threshold = 100};
  const auto place_of = [](const std::string& html) {
    const auto at = html.find("left:", html.find("class=\"value\""));
    return std::stod(html.substr(at + 5));
  };
  const Gauge near{.value = 10, .lower = 1, .upper = 20, .threshold = 100};
  CHECK(place_of(gauge_html(near, {near, far})) < place_of(gauge_html(near)));
  // An end at infinity is that of the axis; a value that is not resolved is not drawn.
  const auto open = gauge_html({.lower = 1, .upper = INFINITY, .threshold = 1});
  CHECK_THAT(open, Contains("left:50.0%;width:50.0%") && !Contains("class=\"value\""));
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
