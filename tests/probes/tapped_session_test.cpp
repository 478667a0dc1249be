// SPDX-License-Identifier: Apache-2.0
#include <torch/nn/modules/container/sequential.h>

#include <chrono>
#include <thread>
#include <utility>

#include "core/temporary_folder.h"
#include "fixture.h"
#include "kappascope/core/error.h"
#include "kappascope/nn/tapped_linear.h"
#include "kappascope/probes/attach.h"
#include "kappascope/store/run_reader.h"
#include "support/catch.h"
#include "support/emitted.h"

using namespace kappascope;

namespace {

// Remembers what it was shown.
class Witness final : public session::Probe {
 public:
  struct Memory {
    std::vector<int64_t> observed, emitted;
    std::vector<session::LayerView> layers;
    std::chrono::duration<double> cost{0};  // of a window
  };
  Witness(Memory& memory, session::Needs needs) : memory_(memory), needs_(needs) {}
  [[nodiscard]] std::string_view name() const override { return "witness"; }
  [[nodiscard]] session::Needs needs() const override { return needs_; }
  void observe(const session::StepView& view) override {
    memory_.observed.push_back(view.step);
    memory_.layers = *view.layers;
    step_ = view.step;
  }
  void emit(store::Snapshot& /*out*/) override {
    std::this_thread::sleep_for(memory_.cost);
    memory_.emitted.push_back(step_);
  }
  [[nodiscard]] tensor::State state() const override { return {}; }
  void load(const tensor::State& /*state*/) override {}

 private:
  Memory& memory_;
  session::Needs needs_;
  int64_t step_ = -1;
};

std::vector<session::ScheduledProbe> one(Witness::Memory& memory,
                                         session::Needs needs,
                                         session::Schedule schedule) {
  std::vector<session::ScheduledProbe> probes;
  probes.push_back({std::make_unique<Witness>(memory, needs), schedule});
  return probes;
}

/// A session of a model, with a witness.
template <class Model>
struct Witnessed {
  TemporaryFolder folder;
  Model model;
  Witness::Memory memory;
  probes::TappedSession tapped;

  Witnessed(Model shown, session::Schedule schedule, session::Needs needs = {.features = true})
      : model(std::move(shown)),
        tapped(*model,
               store::RunWriter::create(folder.path() / "run", {}),
               one(memory, needs, schedule)) {}
};

}  // namespace

TEST_CASE("a probe sees the steps of its windows, and the gradient is scaled back to one token") {
  Witnessed witnessed(nn::TappedLinear(nn::TappedLinearOptions(3, 2).bias(false)),
                      {4, 2},
                      {.features = true, .output_gradients = true});
  auto& [folder, layer, memory, session] = witnessed;
  const auto x = torch::randn({5, 3});
  for (int step = 0; step < 9; ++step) {
    {
      torch::NoGradGuard no_grad;
      layer->forward(torch::randn({7, 3}));  // an evaluation in between is not a token of training
    }
    layer->forward(x).sum(-1).mean().backward();
    session.step(0.5, 0.1);
  }
  CHECK(memory.observed == std::vector<int64_t>{0, 1, 3, 4, 7, 8});
  CHECK(memory.emitted == std::vector<int64_t>{1, 4, 8});
  REQUIRE(memory.layers.size() == 1);
  CHECK(torch::equal(memory.layers[0].features, x));
  CHECK(torch::equal(memory.layers[0].weight, layer->weight));
  CHECK_FALSE(memory.layers[0].weight.requires_grad());
  // d(mean of sums)/dz is 1/5 a token; scaled back it is that of one token's loss.
  CHECK(torch::allclose(memory.layers[0].gradient, torch::ones({5, 2})));
  session.close();
  const store::RunReader run(folder.path() / "run");
  CHECK(run.state() == "finished");
  CHECK(testing::values(run, {"loss/train", ""}) == std::vector<double>(9, 0.5));
  const auto cost = run.scalars({"cost/witness", ""}), total = run.scalars({"cost/total", ""});
  REQUIRE(cost.size() == 3);
  REQUIRE(total.size() == 3);
  for (std::size_t i = 0; i < 3; ++i)  // a probe's time is in that of all probing, at once
    CHECK(total[i].scalar.value >= cost[i].scalar.value);
}

TEST_CASE("what probing cost is told at the end, also long after the last window") {
  Witnessed witnessed(nn::TappedLinear(nn::TappedLinearOptions(3, 2)), {4, 1});
  auto& [folder, layer, memory, session] = witnessed;
  for (int step = 0; step < 7; ++step) {
    layer->forward(torch::randn({5, 3})).mean().backward();
    session.step(1);
  }
  session.close();
  std::vector<int64_t> steps;
  for (const auto& row : store::RunReader(folder.path() / "run").scalars({"cost/total", ""}))
    steps.push_back(row.step);
  CHECK(steps == std::vector<int64_t>{0, 4, 6});
}

TEST_CASE("gradient accumulation shows every pass; sequences keep their length") {
  Witnessed witnessed(nn::TappedLinear(nn::TappedLinearOptions(3, 2)), {1, 1});
  auto& [folder, layer, memory, session] = witnessed;
  for (int pass = 0; pass < 2; ++pass) layer->forward(torch::randn({4, 6, 3})).mean().backward();
  session.step(1);
  REQUIRE(memory.layers.size() == 2);
  CHECK(memory.layers[0].features.sizes() == at::IntArrayRef({24, 3}));
  CHECK(memory.layers[0].rows_per_group == 6);
  CHECK_FALSE(memory.layers[0].gradient.defined());
}

TEST_CASE("rows of a step and memory are stored beside its seconds, where a window ends") {
  Witnessed witnessed(
      torch::nn::Sequential(nn::TappedLinear(nn::TappedLinearOptions(3, 3).bias(false)),
                            nn::TappedLinear(nn::TappedLinearOptions(3, 2).bias(false))),
      {4, 2});
  auto& [folder, layers, memory, session] = witnessed;
  for (int64_t step = 0; step < 10; ++step) {
    for (const int64_t rows : {2, 6}) layers->forward(torch::randn({rows, 3})).mean().backward();
    // Through one layer alone pass three more.
    layers->ptr<nn::TappedLinearImpl>(1)->forward(torch::randn({3, 3})).mean().backward();
    session.step(1);
  }
  session.close();
  REQUIRE(memory.emitted.size() >= 2);
  const store::RunReader run(folder.path() / "run");
  std::vector<int64_t> steps;
  for (const auto& [step, rows] : run.scalars({"step/rows", ""})) {
    CHECK(rows.value == 11);
    steps.push_back(step);
  }
  CHECK(steps == memory.emitted);
  const auto first = run.scalars({"layer/rows", "0"}), second = run.scalars({"layer/rows", "1"});
  REQUIRE(first.size() == memory.emitted.size());
  CHECK(first[0].scalar.value == 8);
  CHECK(*first[0].scalar.n == 16);  // of two steps
  CHECK(second[0].scalar.value == 11);
  steps.push_back(9);  // and at the end
  std::vector<int64_t> remembered;
  for (const auto& [step, bytes] : run.scalars({"memory/process", ""})) {
    CHECK(bytes.value > 1e6);
    remembered.push_back(step);
  }
  CHECK(remembered == steps);
  CHECK(run.scalars({"memory/device", ""}).empty());
}

TEST_CASE("a row's gradient counts all rows of the step, whatever the passes and their sizes") {
  Witnessed witnessed(nn::TappedLinear(nn::TappedLinearOptions(3, 2).bias(false)),
                      {1, 1},
                      {.features = true, .output_gradients = true});
  auto& [folder, layer, memory, session] = witnessed;
  for (const double rows : {2, 6}) {  // the mean over eight rows, in two passes
    const auto x = torch::randn({static_cast<int64_t>(rows), 3});
    layer->forward(x).sum(-1).mean().mul(rows / 8).backward();
  }
  session.step(1);
  REQUIRE(memory.layers.size() == 2);
  for (const auto& view : memory.layers) {
    CHECK(view.use == 0);
    CHECK(torch::allclose(view.gradient, torch::ones_like(view.gradient)));
  }
  // Used twice in one pass, a layer has no more rows for it.
  const auto x = torch::randn({5, 3});
  (layer->forward(x) + layer->forward(2 * x)).sum(-1).mean().backward();
  session.step(1);
  REQUIRE(memory.layers.size() == 2);
  CHECK(memory.layers[1].use == 1);
  for (const auto& view : memory.layers) CHECK(torch::allclose(view.gradient, torch::ones({5, 2})));
}

TEST_CASE("a session is not saved within a step") {
  Witnessed witnessed(nn::TappedLinear(nn::TappedLinearOptions(3, 2)), {1, 1});
  auto& [folder, layer, memory, session] = witnessed;
  layer->forward(torch::randn({4, 3})).mean().backward();
  CHECK_THROWS_WITH(session.state(), Catch::Contains("between two steps"));
  session.step(1);
  CHECK(session.state().integer("step") == 1);
  CHECK(store::RunReader(folder.path() / "run").last_step() == 0);  // nothing is left pending
}

TEST_CASE("a probe beyond its budget leaves windows out and the run says so") {
  session::Schedule schedule{2, 1};
  schedule.budget = 1e-12;
  Witnessed witnessed(nn::TappedLinear(nn::TappedLinearOptions(3, 2)), schedule);
  witnessed.memory.cost = std::chrono::duration<double>(2 * session::Budget::kFree);
  auto& [folder, layer, memory, session] = witnessed;
  for (int step = 0; step < 9; ++step) {
    layer->forward(torch::randn({4, 3})).mean().backward();
    session.step(1);
  }
  session.close();
  CHECK(memory.emitted == std::vector<int64_t>{0});
  const auto events = store::RunReader(folder.path() / "run").events();
  REQUIRE(events.size() == 1);
  CHECK(events[0].event.kind == "probe_skipped");
  CHECK_THAT(events[0].event.message,
             Catch::Contains("leaves out windows from step 2 on") && Catch::Contains("(budget)") &&
                 Catch::Contains("0 sets no limit"));
}

TEST_CASE("within a budget the first window looks at one layer, the next at the others") {
  session::Schedule schedule{20, 2};
  schedule.budget = 0.5;
  Witnessed witnessed(torch::nn::Sequential(nn::TappedLinear(nn::TappedLinearOptions(3, 3)),
                                            nn::TappedLinear(nn::TappedLinearOptions(3, 3)),
                                            nn::TappedLinear(nn::TappedLinearOptions(3, 3))),
                      schedule);
  auto& [folder, model, memory, session] = witnessed;
  std::vector<std::size_t> seen;
  for (int step = 0; step < 21; ++step) {
    model->forward(torch::randn({4, 3})).mean().backward();
    if (session.step(1)) seen.push_back(memory.layers.size());
  }
  CHECK(memory.observed == std::vector<int64_t>{9, 10, 19, 20});
  CHECK(memory.emitted == std::vector<int64_t>{10, 20});
  CHECK(seen == std::vector<std::size_t>{1, 3});
}

TEST_CASE("a run that ends before its first window says so, and when it would have been") {
  const TemporaryFolder folder;
  nn::TappedLinear layer(nn::TappedLinearOptions(3, 2));
  Witness::Memory memory;
  session::Schedule schedule{200, 4};
  schedule.budget = 0.01;
  for (const auto* const state : {"finished", "interrupted"}) {
    const auto run = folder.path() / state;
    probes::TappedSession session(
        *layer, store::RunWriter::create(run, {}), one(memory, {.features = true}, schedule));
    for (int step = 0; step < 9; ++step) session.step(1);
    session.close(state);
    const auto events = store::RunReader(run).events();
    if (std::string(state) != "finished") {
      CHECK(events.empty());  // it may go on
      continue;
    }
    REQUIRE(events.size() == 1);
    CHECK(events[0].event.kind == "nothing_measured");
    CHECK_THAT(events[0].event.message,
               Catch::Contains("ended at step 8") && Catch::Contains("at step 25"));
  }
}

TEST_CASE("a norm of the gradients is written when it is given, also when it is no number") {
  const TemporaryFolder folder;
  nn::TappedLinear layer(nn::TappedLinearOptions(3, 2));
  probes::TappedSession session(*layer, store::RunWriter::create(folder.path() / "run", {}), {});
  const double infinity = std::numeric_limits<double>::infinity();
  session.step(1, 0.1, 2.5);
  session.step(1, 0.1, infinity);
  session.step(1, 0.1);
  session.close();
  const auto norms = store::RunReader(folder.path() / "run").scalars({"gradient_norm", ""});
  REQUIRE(norms.size() == 2);
  CHECK(norms[0].scalar.value == 2.5);
  CHECK(norms[0].scalar.status == "ok");
  CHECK(norms[1].scalar.value == infinity);
  CHECK(norms[1].scalar.status == "non_finite");
}

TEST_CASE("a number of one's own is recorded under user/, another name is refused at once") {
  const TemporaryFolder folder;
  nn::TappedLinear layer(nn::TappedLinearOptions(3, 2));
  probes::TappedSession session(*layer, store::RunWriter::create(folder.path() / "run", {}), {});
  session.step(1);
  session.record({.name = "user/perplexity", .value = 3, .attributes = {{"set", "valid"}}});
  CHECK_THROWS_WITH(session.record({.name = "perplexity", .value = 3}),
                    Catch::Contains("begins with user/"));
  session.close();
  const auto own = store::RunReader(folder.path() / "run").scalars({"user/perplexity", ""});
  REQUIRE(own.size() == 1);
  CHECK(own[0].scalar.attributes == store::Attributes{{"set", "valid"}});
}

TEST_CASE("a session that is forgotten is written as interrupted") {
  const TemporaryFolder folder;
  {
    nn::TappedLinear layer(nn::TappedLinearOptions(3, 2));
    probes::TappedSession session(*layer, store::RunWriter::create(folder.path() / "run", {}), {});
    session.step(2.5);
  }
  const store::RunReader run(folder.path() / "run");
  CHECK(run.state() == "interrupted");
  CHECK(testing::values(run, {"loss/train", ""}) == std::vector<double>{2.5});
}

TEST_CASE("a model without a tapped layer is refused with the cure, and so is a wrong schedule") {
  const TemporaryFolder folder;
  torch::nn::Linear plain(3, 2);
  Witness::Memory memory;
  CHECK_THROWS_WITH(probes::TappedSession(*plain,
                                          store::RunWriter::create(folder.path() / "a", {}),
                                          one(memory, {.features = true}, {})),
                    Catch::Contains("TappedLinear"));
  nn::TappedLinear layer(nn::TappedLinearOptions(3, 2));
  CHECK_THROWS_WITH(probes::TappedSession(*layer,
                                          store::RunWriter::create(folder.path() / "b", {}),
                                          one(memory, {.features = true}, {2, 3})),
                    Catch::Contains("window"));
}

TEST_CASE("a probe's own passes are not taken for training, and leave nothing behind") {
  const TemporaryFolder folder;
  nn::TappedLinear layer(nn::TappedLinearOptions(3, 2));
  const auto x = torch::randn({6, 3});
  probes::ProbeOptions options;
  options.every = 1;
  options.window = 1;
  options.hessian_every = 1;
  options.budget = 0;
  // Watches whether the graph of the curvature's loss is let go of.
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> outputs;
  options.curvature_loss = [&] {
    const auto z = layer->forward(x);
    outputs.emplace_back(z.getIntrusivePtr());
    return z.square().mean();
  };
  {
    auto session = probes::attach(*layer, folder.path() / "run", options);
    for (int step = 0; step < 3; ++step) {
      layer->forward(x).square().mean().backward();
      session->step(1.0);
    }
    session->close();
  }
  REQUIRE(outputs.size() == 6);
  for (const auto& output : outputs) CHECK(output.expired());
  const store::RunReader run(folder.path() / "run");
  for (const auto& row : run.scalars({"kappa/sigma", "down"})) CHECK(*row.scalar.n == 6);
}
