// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string_view>

namespace kappascope::store {

/// How far a stored number can be relied on: one of a closed list. Which of them a series may have
/// stands in its row of the schema (schema/schema.h). What else there is to say of a number (a
/// route, a reason) is an attribute, never a status.
class Status {
 public:
  enum Value : std::uint8_t {
    kOk,             ///< a number without a question of resolution
    kResolved,       ///< a condition number within a factor of two
    kBiased,         ///< a condition number that the size of the sample dominates
    kNotResolvable,  ///< a condition number that this sample or precision cannot resolve
    kDegenerate,     ///< a condition number of a matrix with a null space
    kConverged,      ///< an iteration reached its tolerance
    kUncertified,    ///< it did, and whether the value is the one of its rank is not known
    kMaxProducts,    ///< an iteration ran out of products before
    kInconsistent,   ///< products of one operator contradict each other
    kReached,        ///< a sampled interval is as narrow as was asked for
    kDataEnded,      ///< it is wider: there were no more rows
    kBudget,         ///< it is wider: the budget was spent
    kNonFinite,      ///< infinite or not a number
    kUndefined,      ///< a quotient by zero: the quantity does not exist here
    kNotAsked,       ///< no value, because nobody asked for one
    kNotRecorded,    ///< no value, because the run does not tell
    kResumed,        ///< of the part of the run after its resumption
    kOther,          ///< a word that this program does not know; attribute "status" holds it
  };

  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr Status(Value value = kOk) : value_(value) {}
  /// From a literal; a word that is no status does not compile.
  // NOLINTNEXTLINE(google-explicit-constructor)
  consteval Status(const char* text) : value_(*find(text)) {}

  /// From a text made at run time. Throws kappascope::Error for a word that is no status.
  static Status parse(std::string_view text);
  static constexpr std::optional<Value> find(std::string_view text) {
    for (std::size_t i = 0; i < kTexts.size(); ++i) {
      if (kTexts[i] == text) return static_cast<Value>(i);
    }
    return std::nullopt;
  }

  [[nodiscard]] constexpr Value value() const { return value_; }
  /// As the store keeps it: "not_resolvable".
  [[nodiscard]] constexpr std::string_view text() const {
    return kTexts[static_cast<std::size_t>(value_)];
  }

  friend constexpr bool operator==(Status a, Status b) { return a.value_ == b.value_; }
  friend constexpr bool operator==(Status a, Value b) { return a.value_ == b; }
  friend constexpr bool operator==(Status a, const char* text) { return a.text() == text; }

  static constexpr std::size_t kCount = kOther + 1;

 private:
  static constexpr std::array<std::string_view, kCount> kTexts = {"ok",
                                                                  "resolved",
                                                                  "biased",
                                                                  "not_resolvable",
                                                                  "degenerate",
                                                                  "converged",
                                                                  "uncertified",
                                                                  "max_products",
                                                                  "inconsistent",
                                                                  "reached",
                                                                  "data_ended",
                                                                  "budget",
                                                                  "non_finite",
                                                                  "undefined",
                                                                  "not_asked",
                                                                  "not_recorded",
                                                                  "resumed",
                                                                  "other"};

  Value value_;
};

std::ostream& operator<<(std::ostream& out, Status status);

/// Whether a number of this status stands for what its name says; drawn hollow where it does not.
constexpr bool is_resolved(Status status) {
  return status == Status::kOk || status == Status::kResolved || status == Status::kConverged ||
         status == Status::kReached;
}

/// Whether it may be compared with the same estimate of another run, layer or step: what is
/// resolved, and what is biased, because the same estimator on as many rows shares the bias.
constexpr bool is_comparable(Status status) {
  return is_resolved(status) || status == Status::kBiased;
}

/// Several of them, for the schema.
class StatusSet {
 public:
  constexpr StatusSet() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr StatusSet(std::initializer_list<Status::Value> values) {
    for (const auto value : values) bits_ |= 1U << value;
  }

  [[nodiscard]] constexpr bool contains(Status status) const {
    return (bits_ >> status.value() & 1U) != 0;
  }
  friend constexpr StatusSet operator|(StatusSet a, StatusSet b) {
    a.bits_ |= b.bits_;
    return a;
  }

 private:
  std::uint32_t bits_ = 0;
};

}  // namespace kappascope::store
