// SPDX-License-Identifier: Apache-2.0
#include "reports/number_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "reports/runs/arms.h"

namespace kappascope::reports {
namespace {

constexpr int kFewest = 3;
constexpr int kMost = std::numeric_limits<double>::max_digits10;

/// What words() shows of the value.
double shown(double value, int digits) {
  if (!std::isfinite(value)) return value;
  if (digits == kFewest && std::abs(value) < 10'000 && value == std::floor(value)) return value;
  const bool whole = digits <= 4 && std::abs(value) >= 999.5 && std::abs(value) < 9'999.5;
  if (whole) return std::nearbyint(value);
  // Not stod, which throws at what rounds to infinity, and below the smallest normal number.
  return std::strtod(fmt::format("{:.{}e}", value, digits - 1).c_str(), nullptr);
}

/// The fewest digits from which `text` comes out as it does from the numbers themselves.
template <typename Text>
int enough_digits(double a, double b, const Text& text) {
  int digits = kFewest;
  while (digits < kMost && text(shown(a, digits), shown(b, digits)) != text(a, b)) ++digits;
  return digits;
}

}  // namespace

std::string kind_of_interval(const store::Scalar& scalar) {
  const auto range = scalar.attributes.find(kSeedsRange);
  return range == scalar.attributes.end() ? "95 %" : range->second;
}

std::string words(double value, int digits) {
  if (std::isnan(value)) return "not a number";
  if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
  if (value < 0) return "−" + words(-value, digits);
  if (value == 0) return "0";
  if (digits == kFewest && value < 10'000 && value == std::floor(value))
    return fmt::format("{:.0f}", value);
  if (value >= 9.995e-3 && value < 9'999.5) {
    if (digits <= 4 && value >= 999.5) return fmt::format("{:.0f}", value);
    return digits == kFewest ? fmt::format("{:.3g}", value)
                             : fmt::format("{:#.{}g}", value, digits);
  }
  static constexpr std::array<const char*, 10> kSuper = {
      "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  const std::string text = fmt::format("{:.{}e}", value, digits - 1);
  const auto e = text.find('e');
  const int exponent = std::stoi(text.substr(e + 1));
  std::string mantissa = text.substr(0, e);
  while (mantissa.back() == '0') mantissa.pop_back();
  if (mantissa.back() == '.') mantissa.pop_back();
  std::string raised = exponent < 0 ? "⁻" : "";
  for (const char digit : std::to_string(std::abs(exponent))) {
    raised += kSuper[static_cast<std::size_t>(digit - '0')];
  }
  return (mantissa == "1" ? "" : mantissa + "×") + "10" + raised;
}

Compared as_share(double a, double b) {
  const auto text = [](double x, double y) { return percent(x / y); };
  const int digits = enough_digits(a, b, text);
  return {words(a, digits), words(b, digits), text(a, b)};
}

Difference as_difference(double a, double b) {
  const auto relation = [](double x, double y) {
    if (x == y) return std::string("equal");
    return percent(std::abs((x - y) / y)) + (x < y ? " lower" : " higher");
  };
  const auto apart = [](double x, double y) { return words(std::abs(x - y)); };
  const int digits =
      enough_digits(a, b, [&](double x, double y) { return relation(x, y) + "; " + apart(x, y); });
  return {{words(a, digits), words(b, digits), relation(a, b)}, apart(a, b)};
}

std::string decimals(double value) {
  const double size = std::abs(value);
  if (!(size >= 9.995e-5 && size < 9.995e-3)) return words(value);
  return (value < 0 ? "−" : "") + fmt::format("{:.3g}", size);
}

std::string grouped(double count) {
  if (!std::isfinite(count)) return words(count);
  std::string text = fmt::format("{:.0f}", count);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string counted(std::size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string percent(double share) {
  if (!std::isfinite(share)) return words(share);
  const double value = 100 * share;
  if (std::abs(value) >= 9'999.5) return words(value) + " %";
  if (value != 0 && std::abs(value) < 0.01) return value > 0 ? "under 0.01 %" : "−0.01 to 0 %";
  const std::string text = fmt::format("{:.{}f}",
                                       std::abs(value),
                                       std::abs(value) >= 9.95 ? 0
                                       : std::abs(value) >= 1  ? 1
                                                               : 2);
  return (value < 0 ? "−" : "") + text + " %";
}

std::string listed(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += i + 1 == items.size() ? " and " : ", ";
    text += items[i];
  }
  return text;
}

std::string percent_interval(const store::Scalar& scalar) {
  if (!scalar.lower || !scalar.upper) return "";
  return kind_of_interval(scalar) + ": " + percent(*scalar.lower) + " to " + percent(*scalar.upper);
}

std::string interval(const store::Scalar& scalar) {
  if (!scalar.lower || !scalar.upper) return "";
  return kind_of_interval(scalar) + ": " + words(*scalar.lower) + "–" + words(*scalar.upper);
}

}  // namespace kappascope::reports
