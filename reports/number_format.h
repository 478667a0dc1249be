// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "kappascope/store/run.h"

namespace kappascope::reports {

/// A number for reading: three digits, "1.2×10⁷" when large or small, "∞", "not a number".
std::string words(double value, int digits = 3);

/// Two numbers with what is said of both. They have the digits, three at least, from which a reader
/// gets the latter again.
struct Compared {
  std::string a{}, b{};
  std::string relation{};
};
/// relation: "12 %", a as a share of b.
Compared as_share(double a, double b);
/// relation: "1.5 % lower" or "higher", a against b, or "equal"; `apart`: their distance.
struct Difference : Compared {
  std::string apart{};
};
Difference as_difference(double a, double b);

/// As words(), with decimals down to 0.0001: "0.0057" beside "0.12".
std::string decimals(double value);
/// A count as "124,618".
std::string grouped(double count);
/// "1 run", "2 runs".
std::string counted(std::size_t count, const std::string& what);
/// A share as "12 %"; two digits below ten, so that 1.8 % is not 2 %, and three from 10,000 on.
std::string percent(double share);
/// "A", "A and B", "A, B and C".
std::string listed(const std::vector<std::string>& items);
/// "95 %: 3.1 % to 5.2 %" of a share, or "" without an interval; "5 seeds: ..." where the bounds
/// are those of so many.
std::string percent_interval(const store::Scalar& scalar);
/// What its bounds are: "95 %", or "5 seeds" of a median over them.
std::string kind_of_interval(const store::Scalar& scalar);
/// "95 %: 31–52", or "" without an interval.
std::string interval(const store::Scalar& scalar);

}  // namespace kappascope::reports
