// SPDX-License-Identifier: Apache-2.0
#include "linalg/outliers.h"

#include <algorithm>

namespace kappascope::linalg {

void add_outliers(const Sample& sample, double share, Density& result) {
  struct Node {
    double value, bound, weight;
  };
  std::vector<Node> nodes;
  for (Eigen::Index p = 0; p < sample.count(); ++p) {
    for (Eigen::Index i = 0; i < sample[p].nodes.size(); ++i)
      nodes.push_back({sample[p].nodes(i),
                       sample[p].residuals(i) + sample.slack(sample[p].nodes(i)),
                       sample[p].weights(i) * sample.rest() / sample.order() /
                           static_cast<double>(sample.count())});
  }
  const KnownEigenvalues& known = sample.known();
  for (Eigen::Index i = 0; i < known.count(); ++i)
    nodes.push_back({known.values(i), known.bounds(i) + sample.slack(), 1 / sample.order()});
  std::sort(
      nodes.begin(), nodes.end(), [](const Node& a, const Node& b) { return a.value > b.value; });
  std::size_t first = 0;
  for (double above = nodes[0].weight; above < 0.5 && first + 1 < nodes.size();)
    above += nodes[++first].weight;
  std::size_t last = first;
  const double gap = share * (sample.high() - sample.low());
  while (first > 0 && nodes[first - 1].value - nodes[first].value <= gap) --first;
  while (last + 1 < nodes.size() && nodes[last].value - nodes[last + 1].value <= gap) ++last;
  result.bulk_high = nodes[first].value;
  result.bulk_low = nodes[last].value;
  bool fresh = true;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i >= first && i <= last) {
      fresh = true;
      continue;
    }
    if (nodes[i].bound > gap / 2) continue;
    const Outlier next{nodes[i].value, nodes[i].bound};
    const bool same = !fresh && result.outliers.back().value - next.value <=
                                    result.outliers.back().bound + next.bound;
    if (!same) {
      result.outliers.push_back(next);
    } else if (next.bound < result.outliers.back().bound) {
      result.outliers.back() = next;
    }
    fresh = false;
  }
  const auto is_outside = [&](const Eigen::VectorXd& values) {
    return (values.array() > result.bulk_high || values.array() < result.bulk_low).eval();
  };
  Eigen::ArrayXXd outside(1, sample.count());
  for (Eigen::Index p = 0; p < sample.count(); ++p)
    outside(0, p) = is_outside(sample[p].nodes).select(sample[p].weights.array(), 0).sum();
  const Estimates mass = sample.estimates(outside, outside);
  result.outlier_count =
      static_cast<double>(is_outside(known.values).count()) + sample.rest() * mass.mean(0);
  result.outlier_count_stderr = sample.rest() * mass.error(0);
}

}  // namespace kappascope::linalg
