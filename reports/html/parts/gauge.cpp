// SPDX-License-Identifier: Apache-2.0
#include "reports/html/parts/gauge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "reports/html/text.h"
#include "reports/number_format.h"

namespace kappascope::reports {
namespace {

constexpr double kBeyond = 1.6;  // what the axis shows beyond the outermost number, as a factor

bool is_shown(const std::optional<double>& x) {
  return x && *x > 0 && std::isfinite(*x);
}

}  // namespace

std::string gauge_html(const Gauge& gauge, const std::vector<Gauge>& beside) {
  double low = gauge.threshold, high = gauge.threshold;
  const auto make_room = [&](const Gauge& of) {
    std::vector<std::optional<double>> all = {of.value, of.lower, of.upper, of.threshold};
    if (of.usual) all.insert(all.end(), {of.usual->lower, of.usual->upper});
    for (const auto& x : all) {
      if (!is_shown(x)) continue;
      low = std::min(low, *x);
      high = std::max(high, *x);
    }
  };
  make_room(gauge);
  std::ranges::for_each(beside, make_room);
  const double from = std::log(low / kBeyond), to = std::log(high * kBeyond);
  const auto place = [&](double x) { return 100 * (std::log(x) - from) / (to - from); };
  const auto bar = [](const char* kind, double begin, double end) {
    return fmt::format("<i class=\"{}\" style=\"left:{:.1f}%;width:{:.1f}%\"></i>",
                       kind,
                       begin,
                       std::max(0.0, end - begin));
  };
  std::string parts;
  if (gauge.usual) parts += bar("usual", place(gauge.usual->lower), place(gauge.usual->upper));
  if (gauge.lower || gauge.upper) {
    // An end that is not shown, as one at infinity, is the end of the axis.
    const double begin = is_shown(gauge.lower) ? place(*gauge.lower) : 0;
    const double end = is_shown(gauge.upper) ? place(*gauge.upper) : 100;
    parts += bar("interval", begin, end);
  }
  parts +=
      fmt::format("<i class=\"threshold\" style=\"left:{:.1f}%\"></i>", place(gauge.threshold));
  if (is_shown(gauge.value))
    parts += fmt::format("<i class=\"value\" style=\"left:{:.1f}%\"></i>", place(*gauge.value));
  const auto in_words = [](const std::optional<double>& x) { return x ? words(*x) : "unknown"; };
  return fmt::format("<span class=\"gauge\" role=\"img\" aria-label=\"{}\">{}</span>",
                     escape_html(fmt::format("{}, between {} and {}, against {}{}",
                                             in_words(gauge.value),
                                             in_words(gauge.lower),
                                             in_words(gauge.upper),
                                             words(gauge.threshold),
                                             gauge.usual ? fmt::format("; usual {} to {}",
                                                                       words(gauge.usual->lower),
                                                                       words(gauge.usual->upper))
                                                         : "")),
                     parts);
}

}  // namespace kappascope::reports
