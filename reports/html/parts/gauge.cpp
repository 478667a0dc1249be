// SPDX-License-Identifier: Apache-2.0
#include "reports/html/parts/gauge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/html/text.h"
#include "reports/number_format.h"

namespace kappascope::reports {
namespace {

constexpr double kBeyond = 1.6;  // what the axis shows beyond the outermost number, as a factor

bool is_shown(const std::optional<double>& x) {
  return x && *x > 0 && std::isfinite(*x);
}

}  // namespace

std::string gauge_html(const Gauge& gauge) {
  double low = gauge.threshold, high = gauge.threshold;
  for (const auto& x : {gauge.value, gauge.lower, gauge.upper}) {
    if (!is_shown(x)) continue;
    low = std::min(low, *x);
    high = std::max(high, *x);
  }
  const double from = std::log(low / kBeyond), to = std::log(high * kBeyond);
  const auto place = [&](double x) { return 100 * (std::log(x) - from) / (to - from); };
  std::string parts;
  if (gauge.lower || gauge.upper) {
    // An end that is not shown, as one at infinity, is the end of the axis.
    const double begin = is_shown(gauge.lower) ? place(*gauge.lower) : 0;
    const double end = is_shown(gauge.upper) ? place(*gauge.upper) : 100;
    parts += fmt::format("<i class=\"interval\" style=\"left:{:.1f}%;width:{:.1f}%\"></i>",
                         begin,
                         std::max(0.0, end - begin));
  }
  parts +=
      fmt::format("<i class=\"threshold\" style=\"left:{:.1f}%\"></i>", place(gauge.threshold));
  if (is_shown(gauge.value))
    parts += fmt::format("<i class=\"value\" style=\"left:{:.1f}%\"></i>", place(*gauge.value));
  const auto in_words = [](const std::optional<double>& x) { return x ? words(*x) : "unknown"; };
  return fmt::format("<span class=\"gauge\" role=\"img\" aria-label=\"{}\">{}</span>",
                     escape_html(fmt::format("{}, between {} and {}, against {}",
                                             in_words(gauge.value),
                                             in_words(gauge.lower),
                                             in_words(gauge.upper),
                                             words(gauge.threshold))),
                     parts);
}

}  // namespace kappascope::reports
