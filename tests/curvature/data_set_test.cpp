// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/data_set.h"

#include <torch/types.h>

#include <numeric>

#include "curvature/small_problem.h"
#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::test;
using Catch::Contains;
using curvature::ProductKind;

namespace {

/// 40 rows in batches of 20, 13 and 7.
struct Data {
  Problem whole = small_problem();
  std::vector<int64_t> rows = {20, 13, 7};
  std::vector<Problem> batches;
  int evaluations = 0;

  Data() {
    int64_t begin = 0;
    for (const auto n : rows) {
      batches.push_back(
          {whole.model, whole.x.narrow(0, begin, n), whole.labels.narrow(0, begin, n)});
      begin += n;
    }
  }
  [[nodiscard]] curvature::NamedParameters parameters() const {
    return curvature::select_parameters(*whole.model);
  }
  Problem& batch(int64_t i) {
    ++evaluations;
    return batches.at(static_cast<std::size_t>(i));
  }
  curvature::Batches losses() {
    return {[this](int64_t i) { return cross_entropy(batch(i)); }, rows};
  }
  curvature::Batches by_row() {
    return {[this](int64_t i) { return row_losses(batch(i)); }, rows};
  }
  curvature::Batches outputs() {
    return {[this](int64_t i) {
              auto& p = batch(i);
              return p.model->forward(p.x);
            },
            rows};
  }
};

void check_same(const curvature::CurvatureOperator& got, const curvature::CurvatureOperator& want) {
  const auto matrix = dense(want);
  CHECK((dense(got) - matrix).norm() < 1e-13 * matrix.norm());
}

}  // namespace

TEST_CASE("operators over batches of different sizes are those over all rows at once") {
  Data d;
  const auto parameters = d.parameters();
  const auto cross = curvature::OutputLoss::kCrossEntropy;
  const auto loss = [&] { return cross_entropy(d.whole); };
  const auto losses = [&] { return row_losses(d.whole); };
  const auto outputs = [&] { return d.whole.model->forward(d.whole.x); };
  for (const int64_t bytes : {int64_t{1} << 40, int64_t{0}}) {
    CAPTURE(bytes);
    curvature::DataSetOptions options;
    options.graph_bytes = bytes;
    const auto kind = bytes > 0 ? ProductKind::kGraphKept : ProductKind::kRecomputed;
    const auto hessian = curvature::hessian(d.losses(), parameters, options);
    CHECK(hessian->product_kind() == kind);
    const auto whole = curvature::hessian(loss, parameters);
    check_same(*hessian, *whole);
    CHECK(torch::allclose(hessian->gradient(), whole->gradient(), 1e-12, 1e-14));
    const auto newton = curvature::gauss_newton(d.outputs(), cross, parameters, options);
    CHECK(newton->product_kind() == kind);
    CHECK_FALSE(newton->gradient().defined());
    check_same(*newton, *curvature::gauss_newton(outputs, cross, parameters));
    check_same(*curvature::empirical_fisher(d.by_row(), parameters, options),
               *curvature::empirical_fisher(losses, parameters));
    // About the mean gradient of all rows: the batches' own covariances have another mean.
    check_same(*curvature::gradient_covariance(d.by_row(), parameters, options),
               *curvature::gradient_covariance(losses, parameters));
  }
}

TEST_CASE("finite differences over batches are as right as they state") {
  Data d;
  curvature::DataSetOptions options;
  options.batch.product = ProductKind::kFiniteDifference;
  const auto op = curvature::hessian(d.losses(), d.parameters(), options);
  CHECK(op->product_kind() == ProductKind::kFiniteDifference);
  CHECK(op->product_reason() == "asked for");
  const auto want = curvature::hessian([&] { return cross_entropy(d.whole); }, d.parameters());
  CHECK(product_error(*op, dense(*want)) < op->product_noise());
}

TEST_CASE("graphs are kept from the first batch on while they fit") {
  Data d;
  const auto evaluations_of_a_product = [&](int64_t bytes, ProductKind kind) {
    curvature::DataSetOptions options;
    options.graph_bytes = bytes;
    options.batch.product = kind;
    const auto op = curvature::hessian(d.losses(), d.parameters(), options);
    d.evaluations = 0;
    op->apply(torch::ones({op->size()}));
    return d.evaluations;
  };
  int kept_some = 0, last = 3;
  for (int64_t bytes = 1 << 10; bytes <= 1 << 22; bytes += bytes / 4) {
    const int now = evaluations_of_a_product(bytes, ProductKind::kAutomatic);
    CHECK(now <= last);
    kept_some += now == 1 || now == 2 ? 1 : 0;
    last = now;
  }
  CHECK(last == 0);
  CHECK(kept_some > 0);
  CHECK(evaluations_of_a_product(0, ProductKind::kGraphKept) == 0);
  CHECK(evaluations_of_a_product(1 << 22, ProductKind::kRecomputed) == 3);
}

TEST_CASE("a loader that shuffles is refused with both values and the batch") {
  Data d;
  const auto parameters = d.parameters();
  auto losses = d.losses();
  // Another batch at every call.
  int calls = 0;
  const auto in_turn = [&](int64_t) { return cross_entropy(d.batch(calls++ % 3)); };
  CHECK_THROWS_WITH(curvature::hessian({in_turn, d.rows}, parameters),
                    Contains("batch 0") && Contains("not deterministic") && Contains(" and "));
  // The same within the first pass, which evaluates each batch twice; another order in the next.
  calls = 0;
  const auto reshuffled = [&](int64_t i) {
    return cross_entropy(d.batch(calls++ < 6 ? i : 2 - i));
  };
  CHECK_THROWS_WITH(curvature::hessian({reshuffled, d.rows}, parameters),
                    Contains("batch 0") && Contains("not deterministic"));
  // Later on, when products are under way.
  calls = 0;
  const auto later = [&](int64_t i) {
    return cross_entropy(d.batch(i == 1 && calls++ > 20 ? 2 : i));
  };
  curvature::DataSetOptions small;
  small.graph_bytes = 0;
  const auto op = curvature::hessian({later, d.rows}, parameters, small);
  const auto many = [&] {
    for (int i = 0; i < 30; ++i) op->apply(torch::ones({op->size()}));
  };
  CHECK_THROWS_WITH(many(), Contains("batch 1") && Contains("not deterministic"));
}

TEST_CASE("rows that are not what was stated are refused") {
  Data d;
  const auto parameters = d.parameters();
  auto wrong = d.by_row();
  wrong.rows = {20, 13, 8};
  CHECK_THROWS_WITH(curvature::empirical_fisher(wrong, parameters), Contains("batch 2 has 7 rows"));
  wrong.rows = {};
  CHECK_THROWS_WITH(curvature::empirical_fisher(wrong, parameters), Contains("needs batches"));
  wrong.rows = {20, 0};
  CHECK_THROWS_WITH(curvature::empirical_fisher(wrong, parameters), Contains("a row"));
}
