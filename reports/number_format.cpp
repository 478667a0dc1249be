// SPDX-License-Identifier: Apache-2.0
#include "reports/number_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace kappascope::reports {

std::string words(double value) {
  if (std::isnan(value)) return "not a number";
  if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
  if (value < 0) return "−" + words(-value);
  if (value == 0) return "0";
  if (value < 10'000 && value == std::floor(value)) return fmt::format("{:.0f}", value);
  if (value >= 9.995e-3 && value < 9'999.5) {
    if (value >= 999.5) return fmt::format("{:.0f}", value);
    return fmt::format("{:.3g}", value);
  }
  static constexpr std::array<const char*, 10> kSuper = {
      "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  const std::string text = fmt::format("{:.2e}", value);
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

std::pair<std::string, std::string> words_apart(double a, double b) {
  constexpr int kFewest = 3, kMost = 6;
  const double size = std::max(std::abs(a), std::abs(b));
  const auto last_digit = [&](int digits) {
    return std::pow(10, std::floor(std::log10(size)) - digits + 1);
  };
  int digits = kFewest;
  while (digits < kMost && a != b && std::abs(a - b) < 10 * last_digit(digits)) ++digits;
  if (digits == kFewest) return {words(a), words(b)};
  return {fmt::format("{:#.{}g}", a, digits), fmt::format("{:#.{}g}", b, digits)};
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
  return "95 %: " + percent(*scalar.lower) + " to " + percent(*scalar.upper);
}

std::string interval(const store::Scalar& scalar) {
  if (!scalar.lower || !scalar.upper) return "";
  return "95 %: " + words(*scalar.lower) + "–" + words(*scalar.upper);
}

}  // namespace kappascope::reports
