// SPDX-License-Identifier: Apache-2.0
#include "tensor/host_pass.h"

#include <ATen/Parallel.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <limits>

#include "support/catch.h"
#include "tensor/convert.h"

using namespace kappascope;

namespace {

// Restores the number of threads that the other tests of this program run with.
class Threads {
 public:
  explicit Threads(int count) : before_(at::get_num_threads()) { at::set_num_threads(count); }
  ~Threads() { at::set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

// Numbers of few bits: every sum and product is exact, whatever the order.
at::Tensor few_bits(int64_t n, int64_t d, at::ScalarType type = torch::kFloat) {
  return torch::randint(-8, 8, {n, d}, type);
}

}  // namespace

TEST_CASE("one pass gives the reference's sums and product for any groups, threads and types") {
  torch::manual_seed(5);
  for (const auto& type : {torch::kFloat, torch::kDouble}) {
    for (const int64_t d : {1, 100, 300}) {
      const auto rows = few_bits(1200, d, type), shift = few_bits(1, d, type)[0];
      auto mask = torch::ones({1200}, torch::kBool);
      mask.narrow(0, 100, 250).fill_(false);
      const tensor::LowerTriangle triangle(d);
      for (const int64_t rows_per_group : {1, 2, 3, 100, 150, 300, 1200}) {
        const auto want = tensor::centre(rows, mask, shift, rows_per_group);
        const auto product = tensor::to_matrix(want.rows.t().matmul(want.rows));
        for (const int threads : {1, 2, 3}) {
          CAPTURE(d, rows_per_group, threads);
          const Threads guard(threads);
          const auto out = triangle.zeros(rows.options()) + 1;
          tensor::HostPass pass(triangle, rows, mask, shift, rows_per_group);
          // Parts that divide neither chunks nor groups.
          pass.run(0, 1057, 0, out);
          pass.run(1057, 143, 1, out);
          const auto got = pass.result();
          CHECK(triangle.unpack(out) == product);
          CHECK(torch::equal(got.sums, want.sums));
          CHECK(torch::equal(got.squares, want.squares));
          CHECK(torch::equal(got.powers, want.powers));
          CHECK(got.length_fourth == want.length_fourth);
          CHECK(torch::equal(got.keep, want.keep));
          CHECK(got.kept == 950);
        }
      }
    }
  }
}

TEST_CASE("a NaN or an infinity leaves its row out of sums and product, and nothing else") {
  torch::manual_seed(6);
  const auto clean = few_bits(600, 200), shift = few_bits(1, 200)[0];
  auto rows = clean.clone();
  rows[4][199] = std::numeric_limits<float>::quiet_NaN();
  rows[200][0] = -std::numeric_limits<float>::infinity();
  rows[7][0] = std::numeric_limits<float>::infinity();
  const tensor::LowerTriangle triangle(200);
  auto mask = torch::ones({600}, torch::kBool);
  for (const bool masked : {false, true}) {
    if (masked) mask[7] = false;
    auto keep = mask.clone();
    keep[4] = keep[7] = keep[200] = false;
    const auto centred = (clean - shift) * keep.unsqueeze(1);
    const auto out = triangle.zeros(torch::kFloat);
    const auto given = masked ? mask : at::Tensor();
    tensor::HostPass pass(triangle, rows, given, shift, /*rows_per_group=*/1);
    pass.run(0, 600, 1, out);
    const auto got = pass.result();
    CHECK(got.nonfinite == (masked ? 2 : 3));
    CHECK(got.kept == 597);
    CHECK(torch::equal(got.keep, keep));
    CHECK(triangle.unpack(out) == tensor::to_matrix(centred.t().matmul(centred)));
    CHECK(torch::equal(got.sums[0], centred.sum(0).to(torch::kDouble)));
  }
}

TEST_CASE("the largest finite numbers are kept") {
  const float largest = std::numeric_limits<float>::max();
  const auto rows = torch::tensor({{largest, -largest}, {0.F, 1.F}});
  const auto shift = torch::zeros({2});
  const tensor::LowerTriangle triangle(2);
  const auto out = triangle.zeros(torch::kFloat);
  tensor::HostPass pass(triangle, rows, {}, shift, 1);
  pass.run(0, 2, 1, out);
  CHECK(pass.result().nonfinite == 0);
  CHECK_FALSE(pass.result().keep.defined());
}
