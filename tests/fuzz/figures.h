// SPDX-License-Identifier: Apache-2.0
// Arms and figures of arbitrary texts and numbers, for the targets that draw them.
#pragma once

#include <limits>
#include <map>

#include "fuzz/fuzz.h"
#include "reports/figures.h"

namespace kappascope::fuzz {

/// What is drawn. Texts go through `text`, so that the same figure can be made without them.
class Drawing {
 public:
  Drawing(std::string_view bytes, bool plain) : input_(bytes), plain_(plain) {
    const auto count = 1 + input_.below(4);
    for (std::size_t i = 0; i < count; ++i) {
      arms.emplace_back();
      arms.back().label = text();
    }
    figure.id = "figure";
    figure.title = text();
    figure.caption = text();
    figure.notes = {text()};
    figure.missing = text();
    figure.columns = 1 + input_.below(3);
    figure.x = axis();
    const auto panels = input_.below(4);
    for (std::size_t i = 0; i < panels; ++i)
      figure.panels.push_back({.title = text(), .y = axis(), .height = 1});
    for (auto left = panels == 0 ? 0 : input_.below(5); left > 0; --left) add_series();
    for (auto left = panels == 0 ? 0 : input_.below(3); left > 0; --left)
      figure.lines.push_back({input_.below(panels), number(), text()});
  }

  /// Of the same length and without a meaning in any language where the drawing is plain; different
  /// texts stay different, as names that are the same are drawn once.
  std::string text() {
    const auto taken = input_.text();
    return plain_ ? plain_of(taken) : taken;
  }
  Input& input() { return input_; }

  std::vector<reports::Arm> arms;
  reports::Figure figure;

 private:
  const std::string& plain_of(const std::string& text) {
    const auto [known, is_new] = plain_texts_.try_emplace(text, text.size(), 'x');
    if (!is_new) return known->second;
    constexpr std::size_t kLetters = 26;
    auto rest = plain_texts_.size();
    for (auto& letter : known->second) {
      letter = static_cast<char>('a' + rest % kLetters);
      rest /= kLetters;
    }
    return known->second;
  }

  double number() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    switch (input_.below(8)) {
      case 0:
        return std::numeric_limits<double>::quiet_NaN();
      case 1:
        return kInfinity;
      case 2:
        return -kInfinity;
      case 3:
        return input_.number<double>();
      default:
        return input_.number<std::int16_t>() / 64.0;
    }
  }

  /// finish_figures() gives finite ends in order, positive ones on a logarithmic axis.
  reports::Axis axis() {
    reports::Axis axis;
    axis.title = text();
    axis.log = input_.flag();
    axis.min = axis.log ? 1e-3 : static_cast<double>(input_.number<std::int16_t>());
    axis.max = axis.min + 1 + input_.number<std::uint16_t>();
    axis.threshold = !axis.log && input_.flag() ? 0.5 : 0;
    axis.categories = input_.flag();
    for (auto left = input_.below(4); left > 0; --left) axis.ticks.push_back({number(), text()});
    return axis;
  }

  void add_series() {
    reports::Series series;
    series.arm = input_.below(arms.size());
    series.panel = input_.below(figure.panels.size());
    series.layer = text();
    series.quantity = text();
    series.draw = static_cast<reports::Draw>(input_.below(3));
    series.dash = static_cast<reports::Dash>(input_.below(4));
    series.faint = input_.flag();
    const bool bounds = input_.flag();
    for (auto left = input_.below(6); left > 0; --left) {
      series.x.push_back(number());
      series.y.push_back(number());
      if (bounds) series.lower.push_back(number()), series.upper.push_back(number());
      series.hollow.push_back(input_.flag() ? 1 : 0);
      series.shade.push_back(static_cast<double>(input_.byte()) / 255);
      series.hover.push_back(text());
    }
    figure.series.push_back(series);
  }

  Input input_;
  bool plain_;
  std::map<std::string, std::string> plain_texts_;
};

/// A drawing with one text in every place where texts stand.
inline std::string drawing_seed(const std::string& text) {
  const auto one = text_of(text);
  const std::string axis = one + std::string("\0\0\0\30\0\0\0\1\4\100\0", 11) + one;
  std::string bytes = '\1' + one + one + one + one + one + one + '\0' + axis;
  bytes += '\2' + one + axis + one + axis;
  bytes += '\2';
  for (const char draw : {'\0', '\1'}) {
    bytes += std::string{draw, draw} + one + one + std::string{draw, draw, '\0', '\1', '\2'};
    for (const char hollow : {'\0', '\1'}) {
      for (int numbers = 0; numbers < 4; ++numbers) bytes += std::string{'\4', '\100', hollow};
      bytes += std::string{hollow, '\177'} + one;
    }
  }
  return bytes + '\1' + std::string("\0\4\100\0", 4) + one;
}

/// Of gnuplot, of HTML and of neither.
inline std::vector<std::pair<std::string, std::string>> drawing_seeds() {
  return {{"seed-words", drawing_seed("words")},
          {"seed-gnuplot", drawing_seed("'\"; system('x') `x` @x \\n EOD\nEOD\n%d {/:Bold x}")},
          {"seed-html", drawing_seed("</script><script>x</script>&\"'><b onclick='x'>\xff\xc3")}};
}

}  // namespace kappascope::fuzz
