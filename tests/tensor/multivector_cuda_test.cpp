// SPDX-License-Identifier: Apache-2.0
// The kernels of src/cuda/multivector: their loops gone through on the host, and, where there is a
// device, their results beside the host's.
#include <torch/types.h>
#include <torch/utils.h>

#include <array>
#include <cmath>
#include <vector>

#include "cuda/multivector_arithmetic.h"
#include "support/catch.h"
#include "tensor/convert.h"
#include "tensor/device.h"
#include "tensor/multivector/multivector.h"

using namespace kappascope;

namespace {

// Numbers of few bits: every sum and product is exact, whatever the order.
std::vector<at::Tensor> drawn(std::int64_t n, int count, at::ScalarType type, bool exact) {
  torch::manual_seed(7);
  std::vector<at::Tensor> columns;
  for (int i = 0; i < count; ++i)
    columns.push_back(exact ? torch::randint(-8, 8, {n}, type) : torch::randn({n}, type));
  return columns;
}

cuda::Group group_of(const std::vector<at::Tensor>& columns, const std::vector<double>& factors) {
  cuda::Group group{};
  group.count = static_cast<int>(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    group.columns[i] = columns[i].const_data_ptr();
    group.factors[i] = factors[i];
  }
  return group;
}

double block_sum(const std::array<double, cuda::kThreads>& threads) {
  std::array<double, cuda::kWarp> lanes{};
  for (int lane = 0; lane < cuda::kWarp; ++lane) lanes[lane] = cuda::lane_sum(threads.data(), lane);
  for (int apart = cuda::kWarp / 2; apart > 0; apart /= 2)
    for (int lane = 0; lane < apart; ++lane) lanes[lane] += lanes[lane + apart];
  return lanes[0];
}

struct Sums {
  std::vector<double> columns;
  double square = 0;
};

// What a grid of `blocks` does, block after block and thread after thread; w is changed.
template <typename T>
Sums on_host(const cuda::Group& group, std::vector<double>& w, int blocks) {
  const auto n = static_cast<std::int64_t>(w.size()), pieces = cuda::piece_count(n);
  const auto each = [&](const auto& work) {
    for (int block = 0; block < blocks; ++block)
      for (std::int64_t p = block; p < pieces; p += blocks) work(p, cuda::piece_of(p, n));
  };
  std::vector<double> squares(pieces), products(pieces * group.count);
  std::array<double, cuda::kThreads> room{};
  each([&](std::int64_t p, cuda::Piece piece) {
    for (int thread = 0; thread < cuda::kThreads; ++thread)
      for (auto j = piece.begin + thread; j < piece.end; j += cuda::kThreads)
        w[j] = cuda::subtracted<T>(group, j, w[j]);
    for (int thread = 0; thread < cuda::kThreads; ++thread)
      room[thread] = cuda::thread_square(w.data(), piece, thread);
    squares[p] = block_sum(room);
    for (int tile = 0; tile < group.count; tile += cuda::kTile) {
      std::array<std::array<double, cuda::kThreads>, cuda::kTile> all{};
      for (int thread = 0; thread < cuda::kThreads; ++thread) {
        double mine[cuda::kTile];
        cuda::thread_products<T>(group, tile, w.data(), piece, thread, mine);
        for (int i = 0; i < cuda::kTile; ++i) all[i][thread] = mine[i];
      }
      for (int i = 0; i < cuda::kTile && tile + i < group.count; ++i)
        products[(tile + i) * pieces + p] = block_sum(all[i]);
    }
  });
  const auto total = [&](const double* partial) {
    for (int thread = 0; thread < cuda::kThreads; ++thread)
      room[thread] = cuda::thread_total(partial, pieces, thread);
    return block_sum(room);
  };
  Sums sums{.columns = {}, .square = total(squares.data())};
  for (int i = 0; i < group.count; ++i) sums.columns.push_back(total(products.data() + i * pieces));
  return sums;
}

Sums on_host(const cuda::Group& group, std::vector<double>& w, int blocks, at::ScalarType type) {
  return type == torch::kDouble ? on_host<double>(group, w, blocks)
                                : on_host<float>(group, w, blocks);
}

std::vector<double> values(const at::Tensor& w) {
  const auto* at = w.const_data_ptr<double>();
  return {at, at + w.numel()};
}

// A double sum of n terms is off by n rounding errors of the sum of magnitudes at most.
double sum_error(std::int64_t n, double magnitudes) {
  return static_cast<double>(n) * 0x1p-53 * magnitudes;
}

constexpr std::array<std::int64_t, 7> kSizes = {0, 1, 31, 256, 4096, 4097, (1 << 20) + 3};

}  // namespace

TEST_CASE("a grid of any size takes every element and column once") {
  for (const auto type : {torch::kFloat, torch::kDouble}) {
    for (const auto n : kSizes) {
      for (const int count : {1, 8, 9, 40}) {
        if (n > 5000 && count > 9) continue;
        const auto columns = drawn(n, count, type, /*exact=*/true);
        const auto start = torch::randint(-8, 8, {n}, torch::kDouble);
        std::vector<double> factors;
        auto left = start.clone();
        for (int i = 0; i < count; ++i) {
          factors.push_back(i % 5 - 2);
          left -= factors.back() * columns[i].to(torch::kDouble);
        }
        for (const int blocks : {1, 7, 1024}) {
          CAPTURE(c10::toString(type), n, count, blocks);
          auto w = values(start);
          const auto sums = on_host(group_of(columns, factors), w, blocks, type);
          CHECK(w == values(left));
          CHECK(sums.square == left.square().sum().item<double>());
          std::vector<double> want;
          for (const auto& column : columns)
            want.push_back((column.to(torch::kDouble) * left).sum().item<double>());
          CHECK(sums.columns == want);
        }
      }
    }
  }
}

TEST_CASE("the order of addition keeps the stated bound, which is a thousandth of the plain one") {
  constexpr std::int64_t kLength = (1 << 20) + 3;
  const auto columns = drawn(kLength, 1, torch::kFloat, /*exact=*/false);
  const auto* a = columns[0].const_data_ptr<float>();
  auto w = values(torch::randn({kLength}, torch::kDouble));
  const auto got = on_host<float>(group_of(columns, {0}), w, 1024).columns[0];
  long double want = 0;
  double magnitudes = 0;
  for (std::int64_t j = 0; j < kLength; ++j) {
    want += static_cast<long double>(a[j]) * w[j];
    magnitudes += std::abs(a[j] * w[j]);
  }
  CHECK(std::abs(static_cast<double>(got - want)) <= sum_error(44, magnitudes));
}

TEST_CASE("pieces follow each other beyond 2^31 elements") {
  for (const std::int64_t n : {(std::int64_t{1} << 31) + 5, (std::int64_t{1} << 40) + 4096}) {
    const auto last = cuda::piece_count(n) - 1;
    CHECK(cuda::piece_of(last, n).end == n);
    CHECK(cuda::piece_of(last, n).begin < n);
    for (const auto p : {std::int64_t{0}, last / 2, last - 1})
      CHECK(cuda::piece_of(p, n).end == cuda::piece_of(p + 1, n).begin);
  }
  CHECK(cuda::piece_count(0) == 0);
}

TEST_CASE("a column without a share is not read") {
  cuda::Group group{};
  group.count = 3;
  CHECK(cuda::subtracted<float>(group, 5, 1.5) == 1.5);
}

TEST_CASE("elements are combined from values that lie apart") {
  const std::array<float, 6> values = {1, 9, 2, 9, 3, 9};
  const std::array<double, 3> y = {0.5, -1, 4};
  CHECK(cuda::combined(values.data(), 2, y.data(), 3) == 10.5);
}

TEST_CASE("columns on a device give the host's numbers within rounding, and the same bits twice",
          "[cuda]") {
  if (no_device()) return;
  const auto& host_kernels = tensor::MultivectorKernels::host();
  const auto& cuda = tensor::MultivectorKernels::on(torch::kCUDA);
  for (const auto type : {torch::kFloat, torch::kDouble}) {
    for (const auto n : kSizes) {
      // The most that a launch takes is 128.
      for (const int count : {1, 2, 7, 8, 9, 40, 128, 130}) {
        if (n > 5000 && count > 40) continue;
        CAPTURE(c10::toString(type), n, count);
        const auto host = drawn(n, count, type, /*exact=*/false);
        const auto w = torch::randn({n}, torch::kDouble);
        // One element into its memory: of no more alignment than its type asks for.
        const auto moved = [](const at::Tensor& column) {
          const auto whole = torch::empty({column.numel() + 1}, column.options().device(at::kCUDA));
          return whole.narrow(0, 1, column.numel()).copy_(column);
        };
        std::vector<at::Tensor> device;
        for (const auto& column : host) device.push_back(moved(column));
        const double largest = n == 0 ? 0 : torch::stack(host).norm().item<double>();
        const double each = sum_error(2 * count + 2, w.norm().item<double>() + 3 * largest);
        const double sums = 2 * sum_error(n, largest * w.norm().item<double>());

        const auto there = moved(w);
        const auto products = cuda.dots(device, there);
        CHECK((products - host_kernels.dots(host, w)).cwiseAbs().maxCoeff() <= sums);
        CHECK(products == cuda.dots(device, there));
        CHECK(std::abs(cuda.norm(there) - host_kernels.norm(w)) <= sums + each);

        Eigen::VectorXd c = Eigen::VectorXd::LinSpaced(count, -1, 2);
        c[count / 2] = 0;
        const auto w_host = w.clone(), w_device = moved(w);
        CHECK(
            std::abs(host_kernels.subtract(host, c, w_host) - cuda.subtract(device, c, w_device)) <=
            sums + each * std::sqrt(static_cast<double>(n)));
        CHECK((tensor::to_vector(w_device) - tensor::to_vector(w_host)).lpNorm<Eigen::Infinity>() <=
              each);
        const auto both_host = w.clone(), both_device = moved(w);
        CHECK((cuda.subtract_dots(device, c, both_device) -
               host_kernels.subtract_dots(host, c, both_host))
                  .cwiseAbs()
                  .maxCoeff() <= 10 * sums + each * largest * std::sqrt(static_cast<double>(n)));
        CHECK(torch::equal(both_device, w_device));

        cuda.store(0.5, there, device[0]);
        host_kernels.store(0.5, w, host[0]);
        CHECK(torch::equal(device[0].cpu(), host[0]));
        const Eigen::MatrixXd y = Eigen::MatrixXd::NullaryExpr(
            count, (count + 1) / 2, [](Eigen::Index i, Eigen::Index j) {
              return std::sin(1.0 + static_cast<double>(i) + 5.0 * static_cast<double>(j));
            });
        host_kernels.combine(host, y);
        cuda.combine(device, y);
        const double unit = type == torch::kFloat ? 0x1p-24 : 0x1p-53;
        for (int i = 0; i < count; ++i)
          CHECK((device[i].cpu() - host[i]).to(torch::kDouble).norm().item<double>() <=
                (2 * unit + sum_error(2 * count, 1)) * count * (largest + w.norm().item<double>()));
      }
    }
  }
}
