// SPDX-License-Identifier: Apache-2.0
#include "tensor/learning/sketch.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/types.h>

#include <algorithm>
#include <utility>

#include "tensor/convert.h"
#include "tensor/learning/control.h"
#include "tensor/learning/lanczos.h"

namespace kappascope::tensor {
namespace {

/// As many random vectors a block as make their error a few per cent.
int64_t probes_for(int64_t dimension, int asked) {
  constexpr int64_t kSamples = 512, kMost = 8;
  return asked > 0 ? asked : std::clamp<int64_t>(kSamples / dimension, 1, kMost);
}

/// [blocks] of [p, d]: a block's rows about their half's mean, each with a random sign, added up.
std::vector<at::Tensor> signed_sums(const BlockedRows& rows,
                                    const at::Tensor& scale,
                                    const LearningOptions& options) {
  auto generator = at::detail::createCPUGenerator(options.seed);
  const auto probes = probes_for(rows.dimension(), options.probes);
  std::vector<at::Tensor> sums;
  for (Eigen::Index b = 0; b < rows.blocks().count(); ++b) {
    auto signs = torch::empty({rows.blocks().rows(b), probes});
    signs.random_(0, 2, generator).mul_(2).sub_(1);
    signs = signs.t().to(rows.options());
    const auto centre = rows.mean(b % 2).to(rows.options());
    auto sum = -signs.sum(1).outer(centre);
    rows.for_each_piece(b, [&](int64_t first, const at::Tensor& piece) {
      sum.addmm_(signs.narrow(1, first, piece.size(0)), piece);
    });
    sums.push_back(sum.mul_(scale));
  }
  return sums;
}

}  // namespace

linalg::Sketch sketch_of(const BlockedRows& rows,
                         const Eigen::VectorXd& scale,
                         const Eigen::VectorXd& bias,
                         const LearningOptions& options) {
  const auto factors = from_vector(scale).to(rows.options());
  const auto sums = signed_sums(rows, factors, options);
  const auto blocks = rows.blocks().count();
  linalg::Sketch result;
  result.has_bias = bias.size() > 0;
  result.without.resize(static_cast<std::size_t>(blocks));
  for (Eigen::Index b = 0; b < blocks; ++b)
    result.block_rows.push_back(static_cast<double>(rows.blocks().rows(b)));
  const Lanczos lanczos(rows, factors, bias, sums, options.steps);
  const auto directions = lanczos.directions();
  const auto count = directions.size(2);
  for (const int64_t half : {0, 1}) {
    const Control control(rows, factors, sums, directions[half].flatten(0, 1));
    for (int64_t p = 0; p < lanczos.parts(); ++p) {
      const auto left_out = Lanczos::left_out(half, p);
      auto trained = lanczos.trained(half, p);
      const auto end = (p + 1) * count;
      control.correct(end - lanczos.converged(half, p),
                      end,
                      half,
                      left_out,
                      rows.rows(half, left_out),
                      trained);
      auto& part = left_out < 0 ? result.halves[static_cast<std::size_t>(half)]
                                : result.without[static_cast<std::size_t>(left_out)];
      part = std::move(trained);
    }
  }
  return result;
}

}  // namespace kappascope::tensor
