// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <vector>

#include "kappascope/store/run_reader.h"

namespace kappascope::reports {

/// The points of one series by step. A point takes 16 bytes; what it has beside step and value
/// (names, interval, samples, status, attributes) is kept once for neighbours that agree in it.
class Points {
 public:
  class Iterator;
  using value_type = store::StepValue;

  Points() = default;
  Points(std::initializer_list<store::StepValue> points);

  void push_back(store::StepValue point);
  void pop_back();

  [[nodiscard]] bool empty() const { return steps_.empty(); }
  [[nodiscard]] std::size_t size() const { return steps_.size(); }
  /// A copy, as every access gives one.
  [[nodiscard]] store::StepValue operator[](std::size_t place) const;
  [[nodiscard]] store::StepValue front() const { return (*this)[0]; }
  [[nodiscard]] store::StepValue back() const { return (*this)[size() - 1]; }
  [[nodiscard]] Iterator begin() const;
  [[nodiscard]] Iterator end() const;

  [[nodiscard]] const std::vector<std::int64_t>& steps() const { return steps_; }
  [[nodiscard]] const std::vector<double>& values() const { return values_; }
  /// visit(scalar, begin, end) for neighbours that agree in what a point has beside step and value:
  /// of theirs [begin, end) are the places, and the scalar's own value means nothing.
  template <typename Visit>
  void each_stretch(const Visit& visit) const {
    for (std::size_t i = 0; i < rests_.size(); ++i)
      visit(
          rests_[i].scalar, rests_[i].first, i + 1 < rests_.size() ? rests_[i + 1].first : size());
  }
  /// The last point with a number in it (infinity counts).
  [[nodiscard]] std::optional<store::StepValue> last_number() const;
  /// The point of that step, if it has a number.
  [[nodiscard]] std::optional<store::StepValue> number_at(std::int64_t step) const;

 private:
  struct Rest {
    std::size_t first = 0;   ///< place of the first point that has it
    store::Scalar scalar{};  ///< without the value
  };

  std::vector<std::int64_t> steps_;
  std::vector<double> values_;
  std::vector<Rest> rests_;
};

class Points::Iterator {
 public:
  using iterator_concept = std::random_access_iterator_tag;
  using iterator_category = std::input_iterator_tag;
  using value_type = store::StepValue;
  using difference_type = std::ptrdiff_t;
  using reference = store::StepValue;
  struct Arrow {
    store::StepValue value{};
    const store::StepValue* operator->() const { return &value; }
  };
  using pointer = Arrow;

  Iterator() = default;
  Iterator(const Points& points, std::size_t place)
      : points_(&points), place_(static_cast<difference_type>(place)) {}

  reference operator*() const { return (*this)[0]; }
  pointer operator->() const { return {**this}; }
  reference operator[](difference_type n) const {
    return (*points_)[static_cast<std::size_t>(place_ + n)];
  }
  Iterator& operator+=(difference_type n) {
    place_ += n;
    return *this;
  }
  Iterator& operator-=(difference_type n) { return *this += -n; }
  Iterator& operator++() { return *this += 1; }
  Iterator& operator--() { return *this -= 1; }
  Iterator operator++(int) {
    auto before = *this;
    ++*this;
    return before;
  }
  Iterator operator--(int) {
    auto before = *this;
    --*this;
    return before;
  }
  friend Iterator operator+(Iterator i, difference_type n) { return i += n; }
  friend Iterator operator+(difference_type n, Iterator i) { return i += n; }
  friend Iterator operator-(Iterator i, difference_type n) { return i -= n; }
  friend difference_type operator-(const Iterator& a, const Iterator& b) {
    return a.place_ - b.place_;
  }
  friend bool operator==(const Iterator& a, const Iterator& b) { return a.place_ == b.place_; }
  friend auto operator<=>(const Iterator& a, const Iterator& b) { return a.place_ <=> b.place_; }

 private:
  const Points* points_ = nullptr;
  difference_type place_ = 0;
};

inline Points::Iterator Points::begin() const {
  return {*this, 0};
}
inline Points::Iterator Points::end() const {
  return {*this, size()};
}

}  // namespace kappascope::reports
