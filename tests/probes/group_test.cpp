// SPDX-License-Identifier: Apache-2.0
// Processes (here: threads) that see a part of the data each, beside one that sees all of it.
#include <torch/types.h>

#include <functional>
#include <limits>
#include <map>
#include <string>

#include "fixture.h"
#include "kappascope/core/error.h"
#include "kappascope/probes/standard.h"
#include "kappascope/store/run_reader.h"
#include "session/passes.h"
#include "support/catch.h"
#include "support/thread_group.h"

using namespace kappascope;

namespace {

constexpr int64_t kSteps = 4, kRows = 60, kWidth = 6;

probes::ProbeOptions options_of() {
  probes::ProbeOptions options;
  options.every = 2;
  options.window = 2;
  options.budget = 0;
  return options;
}

at::Tensor features_of(const std::string& layer, int64_t step) {
  const double phase = layer == "a" ? 0.3 : 1.1;
  const auto angles = torch::arange(kRows * kWidth, torch::kDouble) * (1.7 + 0.1 * step + phase);
  return torch::sin(angles).view({kRows, kWidth}) + phase;
}

/// Rows [first, last) of a layer pass in one process.
using Share = std::function<std::pair<int64_t, int64_t>(const std::string& layer, int rank)>;

void observe_all(const std::filesystem::path& dir,
                 const Share& share,
                 const std::shared_ptr<tensor::Group>& group) {
  auto options = options_of();
  const int rank = group ? group->rank() : 0, size = group ? group->size() : 1;
  session::SessionOptions with;
  with.group = group;
  // ½ Σ_j (j + 1 + rank) w_j²: the mean over two processes has the eigenvalues j + 1.5.
  auto w = torch::ones({3}, torch::kDouble).requires_grad_();
  options.curvature_loss = [&] {
    const auto c = torch::arange(1, 4, torch::kDouble) + rank;
    return 0.5 * (c * w.square()).sum();
  };
  options.hessian_every = 2;
  session::Session session(
      probes::new_run(dir, probes::ExistingRun::kRefuse, {{"label", "test"}}, group.get()),
      probes::standard_probes(
          [&] {
            return curvature::NamedParameters{{"w", w}};
          },
          options),
      with);
  for (int64_t step = 0; step < kSteps; ++step) {
    for (const std::string layer : {"a", "b"}) {
      const auto [first, last] = share(layer, rank);
      if (first == last) continue;
      const auto phi = features_of(layer, step).slice(0, first, last);
      const auto bias = torch::full({kWidth}, -0.2, torch::kDouble);
      const auto number = session.passes()->forward({layer, phi, bias, 0.0, {}, true});
      session.passes()->backward(number, phi.slice(1, 0, 3).cos() / (kRows / size));
    }
    session.step(1.0 + rank);
  }
  session.event("note", "from process " + std::to_string(rank));
  session.close();
}

using Key = std::tuple<std::string, std::string, int64_t>;

std::map<Key, store::Scalar> scalars_of(const std::filesystem::path& dir) {
  std::map<Key, store::Scalar> out;
  const store::RunReader run(dir);
  for (const auto& series : run.series()) {
    for (const auto& [step, scalar] : run.scalars(series))
      out[{series.name, series.layer, step}] = scalar;
  }
  return out;
}

bool begins_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

/// All that the features tell is the same, but for the sample that the intervals draw on.
void check_same_features(const std::filesystem::path& whole, const std::filesystem::path& parts) {
  const auto want = scalars_of(whole), got = scalars_of(parts);
  int compared = 0;
  for (const auto& [key, scalar] : want) {
    const auto& name = std::get<0>(key);
    if (!begins_with(name, "kappa/") && !begins_with(name, "features/") &&
        !begins_with(name, "bias/") && name != "step/rows")
      continue;
    CAPTURE(name, std::get<1>(key), std::get<2>(key));
    REQUIRE(got.count(key) == 1);
    const auto& other = got.at(key);
    CHECK(other.status == scalar.status);
    CHECK(other.n == scalar.n);
    CHECK(other.attributes == scalar.attributes);
    CHECK(other.value == Approx(scalar.value).epsilon(1e-10));
    ++compared;
  }
  CHECK(compared > 60);
}

}  // namespace

TEST_CASE("several processes measure what one measures that sees all rows") {
  const TemporaryFolder folder;
  observe_all(
      folder / "whole", [](const auto&, int) { return std::pair<int64_t, int64_t>(0, kRows); }, {});
  for (const int size : {2, 3}) {
    const auto dir = folder / std::to_string(size);
    testing::in_threads(size, [&](const auto& group) {
      observe_all(
          dir,
          [&](const auto&, int rank) {
            return std::pair(rank * kRows / size, (rank + 1) * kRows / size);
          },
          group);
    });
    check_same_features(folder / "whole", dir);
    const store::RunReader run(dir);
    CHECK(run.fact("processes") == std::to_string(size));
    CHECK(run.state() == "finished");
    // The batches of the processes are a batch each.
    CHECK_FALSE(run.scalars({"gradvar/measured", "a"}).empty());
    const auto batch = run.scalars({"gradvar/critical_batch", "a"});
    REQUIRE_FALSE(batch.empty());
    CHECK(batch.front().scalar.n == kRows);
  }
}

TEST_CASE("a layer that one process did not see, and a process that saw none") {
  const TemporaryFolder folder;
  observe_all(
      folder / "whole", [](const auto&, int) { return std::pair<int64_t, int64_t>(0, kRows); }, {});
  testing::in_threads(3, [&](const auto& group) {
    observe_all(
        folder / "parts",
        [](const std::string& layer, int rank) -> std::pair<int64_t, int64_t> {
          if (rank == 2) return {0, 0};
          if (layer == "b") return {0, rank == 1 ? kRows : 0};  // an expert of one process
          return {rank * kRows / 2, (rank + 1) * kRows / 2};
        },
        group);
  });
  check_same_features(folder / "whole", folder / "parts");
  // All rows of the layer, however few of the processes had them.
  for (const auto* layer : {"a", "b"}) {
    const auto batch =
        store::RunReader(folder / "parts").scalars({"gradvar/critical_batch", layer});
    REQUIRE_FALSE(batch.empty());
    CHECK(batch.front().scalar.n == kRows);
  }
}

TEST_CASE("the Hessian of a group is that of the mean of the losses") {
  const TemporaryFolder folder;
  testing::in_threads(2, [&](const auto& group) {
    observe_all(
        folder / "run",
        [](const auto&, int) { return std::pair<int64_t, int64_t>(0, kRows); },
        group);
  });
  const store::RunReader run(folder / "run");
  const auto top = run.scalars({"hessian/lambda_1", ""});
  REQUIRE_FALSE(top.empty());
  CHECK(top.front().scalar.value == Approx(3.5).epsilon(1e-6));
  const auto bottom = run.scalars({"hessian/lambda_min_1", ""});
  CHECK(bottom.front().scalar.value == Approx(1.5).epsilon(1e-6));
}

TEST_CASE("a curvature loss that fails in one process becomes an event, and training goes on") {
  const TemporaryFolder folder;
  for (const int broken : {0, 1}) {
    const auto dir = folder / std::to_string(broken);
    testing::in_threads(2, [&](const auto& group) {
      auto options = options_of();
      for (const auto* off : {"features", "intercept", "gradient_variance"})
        options.layer_probes.set(off, false);
      auto w = torch::ones({3}, torch::kDouble).requires_grad_();
      options.curvature_loss = [&] {
        return w.square().sum() *
               (group->rank() == broken ? std::numeric_limits<double>::infinity() : 1);
      };
      options.hessian_every = 2;
      session::SessionOptions with;
      with.group = group;
      session::Session session(probes::new_run(dir, probes::ExistingRun::kRefuse, {}, group.get()),
                               probes::standard_probes(
                                   [&] {
                                     return curvature::NamedParameters{{"w", w}};
                                   },
                                   options),
                               with);
      for (int step = 0; step < 4; ++step) session.step(1);
      session.close();
    });
    const store::RunReader run(dir);
    CHECK(run.scalars({"hessian/lambda_1", ""}).empty());
    CHECK(run.scalars({"loss/train", ""}).size() == 4);
    bool told = false;
    for (const auto& event : run.events())
      told = told || event.event.message.find("not finite") != std::string::npos;
    CHECK(told);
  }
}

TEST_CASE("a directory that is taken is refused in every process") {
  const TemporaryFolder folder;
  static_cast<void>(store::RunWriter::create(folder / "run", {}));
  std::vector<std::string> said(2);
  testing::in_threads(2, [&](const auto& group) {
    try {
      static_cast<void>(
          probes::new_run(folder / "run", probes::ExistingRun::kRefuse, {}, group.get()));
    } catch (const Error& error) {
      said[static_cast<std::size_t>(group->rank())] = error.what();
    }
  });
  for (const auto& text : said) CHECK_THAT(text, Catch::Contains("already holds a run"));
}
