// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/features/reservoir.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "core/require.h"

namespace kappascope::linalg {
namespace {

/// 0, 1, …, size - 1 in random order (Fisher and Yates).
std::vector<Eigen::Index> shuffled(Eigen::Index size, Random& random) {
  std::vector<Eigen::Index> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

/// How often each different row is there, of rows that `compare` (as std::memcmp) orders.
template <typename Compare>
std::vector<double> multiplicities(Eigen::Index rows, const Compare& compare) {
  std::vector<Eigen::Index> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return compare(a, b) < 0; });
  std::vector<double> times;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && compare(order[i - 1], order[i]) == 0) {
      ++times.back();
    } else {
      times.push_back(1);
    }
  }
  return times;
}

double equal_pairs(const std::vector<double>& times) {
  double pairs = 0;
  for (const double m : times) pairs += m * (m - 1) / 2;
  return pairs;
}

}  // namespace

Reservoir::Reservoir(Eigen::Index capacity, Eigen::Index dimension, std::uint64_t seed) {
  require(capacity >= 0, "a sample cannot have {} rows", capacity);
  state_.capacity = capacity;
  state_.rows.resize(0, dimension);
  state_.random = seed;
}

Reservoir::Reservoir(State state) : state_(std::move(state)) {
  require(state_.rows.rows() == std::min<std::int64_t>(state_.seen, state_.capacity),
          "a sample of {} rows from a stream of {} cannot hold {}",
          state_.capacity,
          state_.seen,
          state_.rows.rows());
}

std::vector<Reservoir::Choice> Reservoir::choose(std::int64_t count) {
  std::vector<Choice> choices;
  Random random(state_.random);
  for (std::int64_t source = 0; source < count; ++source, ++state_.seen) {
    if (state_.seen < state_.capacity) {
      choices.push_back({source, state_.seen});
    } else if (state_.capacity > 0) {
      const std::uint64_t slot = random.below(static_cast<std::uint64_t>(state_.seen) + 1);
      if (slot < static_cast<std::uint64_t>(state_.capacity)) {
        choices.push_back({source, static_cast<Eigen::Index>(slot)});
      }
    }
  }
  state_.random = random.state();
  const Eigen::Index kept = std::min<std::int64_t>(state_.seen, state_.capacity);
  state_.rows.conservativeResize(kept, Eigen::NoChange);
  return choices;
}

void Reservoir::put(Eigen::Index slot, const Eigen::Ref<const Eigen::RowVectorXf>& row) {
  state_.rows.row(slot) = row;
}

void Reservoir::merge(const Reservoir& other) {
  const State& theirs = other.state_;
  require(state_.capacity == theirs.capacity && state_.rows.cols() == theirs.rows.cols(),
          "samples of {} rows of width {} and of {} rows of width {} cannot be merged",
          state_.capacity,
          state_.rows.cols(),
          theirs.capacity,
          theirs.rows.cols());
  Random random(state_.random);
  const auto mine_order = shuffled(state_.rows.rows(), random);
  const auto their_order = shuffled(theirs.rows.rows(), random);
  const std::int64_t seen = state_.seen + theirs.seen;
  // Drawing rows of the joint stream one after the other, without replacement: what matters of each
  // is only which stream it comes from, and a random row of that stream's sample stands for it.
  std::int64_t mine_left = state_.seen;
  std::int64_t all_left = seen;
  std::size_t mine_next = 0;
  std::size_t their_next = 0;
  RowMatrixF joint(std::min<std::int64_t>(seen, state_.capacity), state_.rows.cols());
  for (Eigen::Index slot = 0; slot < joint.rows(); ++slot, --all_left) {
    if (random.below(static_cast<std::uint64_t>(all_left)) <
        static_cast<std::uint64_t>(mine_left)) {
      joint.row(slot) = state_.rows.row(mine_order[mine_next++]);
      --mine_left;
    } else {
      joint.row(slot) = theirs.rows.row(their_order[their_next++]);
    }
  }
  state_.rows = std::move(joint);
  state_.seen = seen;
  state_.random = random.state();
}

double different_rows(const RowMatrixF& sample, std::int64_t n) {
  const Eigen::Index rows = sample.rows(), d = sample.cols();
  const auto times_of = [&](Eigen::Index first, Eigen::Index columns) {
    return multiplicities(rows, [&](Eigen::Index a, Eigen::Index b) {
      return std::memcmp(
          &sample(a, first), &sample(b, first), static_cast<std::size_t>(columns) * sizeof(float));
    });
  };
  const double all = static_cast<double>(n);
  if (rows < 2 || d == 0) return all;
  const auto times = times_of(0, d);
  const double pairs = equal_pairs(times);
  if (pairs == 0) return all;
  double fewest = std::numeric_limits<double>::infinity();
  for (Eigen::Index j = 0; j < d; ++j) fewest = std::min(fewest, equal_pairs(times_of(j, 1)));
  if (fewest > 2 * pairs) return all;
  const double seen = static_cast<double>(times.size());
  if (rows == n) return seen;
  const auto with = [&](double m) {
    return static_cast<double>(std::count(times.begin(), times.end(), m));
  };
  const double size = static_cast<double>(rows), share = size / all, once = with(1);
  const double twice = with(2) > 0 ? std::pow(std::sqrt(with(2)) + 1, 2) : 0;
  const double unseen =
      once * once / (size / (size - 1) * 2 * twice + share / (1 - share) * std::max(once, 1.0));
  return std::min(all, seen + unseen);
}

}  // namespace kappascope::linalg
