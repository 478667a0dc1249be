// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/descent/gated_draws.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

#include "kappascope/core/statistics.h"
#include "theory/exact/rational.h"
#include "theory/tools/eigen.h"
#include "theory/tools/random.h"

namespace kappascope::theory {
namespace {

constexpr int kInputs = 16;
constexpr std::array kWidths{4, 16, 64};

double gaussian(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

double input(Inputs inputs, Random& random) {
  if (inputs == Inputs::kCentred) return gaussian(random);
  if (inputs == Inputs::kShifted) return 1 + gaussian(random);
  // χ² with four degrees of freedom is -2 ln of two uniforms, one Gaussian squared makes it five;
  // then t·√(3/5) with t = z/√(χ²/5) has variance one.
  const double four = -2 * std::log((1 - random.uniform()) * (1 - random.uniform()));
  return gaussian(random) * std::sqrt(3 / (four + std::pow(gaussian(random), 2)));
}

Matrix<double> draw_features(Inputs inputs, int n, int d, Random& random) {
  const auto weights = [&]() -> Matrix<double> {
    return Matrix<double>::drawn(
        kInputs, d, [&] { return gaussian(random) / std::sqrt(double{kInputs}); });
  };
  const auto up = weights(), gate = weights();
  const Matrix<double> x = Matrix<double>::drawn(n, kInputs, [&] { return input(inputs, random); });
  const Matrix<double> u = x * up, g = x * gate;
  return u.cwise_product(g.map([](double a) { return a / (1 + std::exp(-a)); }));
}

double kappa(const Matrix<double>& a) {
  const auto values = eigenvalues(a);
  return values.back() / values.front();
}

/// What is asked of the moments of one draw.
using MomentRelation = std::function<bool(const Matrix<double>& sigma, const Vector<double>& mu)>;

bool so_in_one_draw(const MomentRelation& says, Inputs inputs, int n, int d, Random& random) {
  const Matrix<double> phi = draw_features(inputs, n, d, random);
  const Vector<double> mu = phi.mean_of_rows().transpose();
  const Matrix<double> centred = phi.plus_row(-mu.transpose());
  return says(centred.transpose() * centred / n, mu);
}

MomentRelation of_kappas(const KappaRelation& says) {
  return [says](const Matrix<double>& sigma, const Vector<double>& mu) {
    return says(kappa(sigma + mu * mu.transpose()), kappa(sigma));
  };
}

/// Fewer where one draw is long, so that all of them take a second.
int draws_of(int n, int d) {
  const double work = static_cast<double>(n) * d * d;
  if (work > 1e7) return 4;
  if (work > 1e6) return 16;
  return work > 1e5 ? 60 : 120;
}

/// Classes so wide that no seed moves a share from one to another.
std::string in_words(double share) {
  if (share == 0) return "never";
  if (share == 1) return "always";
  if (share < 1.0 / 3) return "in less than a third of the draws";
  return share > 2.0 / 3 ? "in more than two thirds of the draws" : "in about half of the draws";
}

struct Count {
  int draws = 0, as_stated = 0;
  [[nodiscard]] double share() const { return static_cast<double>(as_stated) / draws; }
};

template <typename Belongs>
Count count(const std::vector<GatedCell>& cells, const Belongs& belongs) {
  Count sum;
  for (const auto& cell : cells) {
    if (!belongs(cell)) continue;
    sum.draws += cell.draws;
    sum.as_stated += cell.as_stated;
  }
  return sum;
}

/// "...; centred, d = 4: 51/120 57/120 60/120; ...".
std::string table(const std::vector<GatedCell>& cells) {
  std::string text = "shares at n/d = 2, 10, 100";
  for (const auto inputs : {Inputs::kCentred, Inputs::kShifted, Inputs::kHeavyTailed}) {
    for (const int d : kWidths) {
      text += fmt::format("; {}, d = {}:", to_string(inputs), d);
      for (const auto& cell : cells) {
        if (cell.inputs != inputs || cell.d != d) continue;
        text += fmt::format(" {}/{}", cell.as_stated, cell.draws);
      }
    }
  }
  return text;
}

std::vector<GatedCell> cells_of(const MomentRelation& says, std::uint64_t seed) {
  Random random(seed);
  std::vector<GatedCell> cells;
  for (const auto inputs : {Inputs::kCentred, Inputs::kShifted, Inputs::kHeavyTailed}) {
    for (const int d : kWidths) {
      for (const int ratio : {2, 10, 100}) {
        GatedCell cell{inputs, d, ratio, draws_of(ratio * d, d), 0};
        for (int i = 0; i < cell.draws; ++i) {
          cell.as_stated += so_in_one_draw(says, inputs, ratio * d, d, random) ? 1 : 0;
        }
        cells.push_back(cell);
      }
    }
  }
  return cells;
}

Verdict share_verdict(const std::vector<GatedCell>& cells) {
  const auto all = count(cells, [](const GatedCell&) { return true; });
  Verdict verdict;
  verdict.outcome = Outcome::kMeasured;
  verdict.left = "share of draws in which it is so";
  verdict.right = "every draw";
  verdict.route = "Monte Carlo";
  verdict.measured = all.share();
  verdict.predicted = 1;
  const auto interval = wilson(verdict.measured, all.draws);
  verdict.lower = interval.lower;
  verdict.upper = interval.upper;
  verdict.margin = 1 - verdict.measured;
  verdict.cases = all.draws;
  for (const int d : kWidths) {
    const auto at_width = count(cells, [d](const GatedCell& cell) { return cell.d == d; });
    verdict.condition += fmt::format(
        "{}d = {}: {}", verdict.condition.empty() ? "" : "; ", d, in_words(at_width.share()));
  }
  verdict.witness = table(cells);
  return verdict;
}

}  // namespace

const char* to_string(Inputs inputs) {
  if (inputs == Inputs::kCentred) return "centred";
  return inputs == Inputs::kShifted ? "shifted" : "heavy-tailed";
}

std::vector<GatedCell> gated_cells(const KappaRelation& says, std::uint64_t seed) {
  return cells_of(of_kappas(says), seed);
}

Verdict check_gated_share(const KappaRelation& says, std::uint64_t seed) {
  return share_verdict(gated_cells(says, seed));
}

Verdict check_mean_share(const MeanRelation& says, std::uint64_t seed) {
  return share_verdict(cells_of(
      [&](const Matrix<double>& sigma, const Vector<double>& mu) {
        return says(mu.squared_norm(), eigenvalues(sigma).back());
      },
      seed));
}

}  // namespace kappascope::theory
