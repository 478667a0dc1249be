// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "reports/figures.h"

namespace kappascope::reports {

/// A gnuplot string that means its letters and nothing else: every byte that gnuplot could read as
/// a quote, an escape, a macro or a command is written as \ooo, control characters as a space, and
/// `noenhanced` switches the markup off.
std::string gnuplot_text(const std::string& text);
/// The same for the label of a tick, which gnuplot reads as a number's format.
std::string gnuplot_tick(const std::string& text);

std::string colour_of(const Series& series);

/// The point type of the arm, filled or hollow, in the order of the page's markers.
int mark_of(const Series& series, bool hollow);

/// Where a value stands in the coordinates that gnuplot is given: it has no logarithm on both sides
/// of zero.
double placed(const Axis& axis, double value);

/// Data blocks and plot elements of one panel.
class PanelScript {
 public:
  /// `first_block` numbers the data blocks, which are global in gnuplot.
  PanelScript(const Axis& axis, std::size_t first_block) : axis_(axis), next_block_(first_block) {}

  void add(const Series& series);

  [[nodiscard]] const std::string& data() const { return data_; }
  [[nodiscard]] const std::string& plot() const { return plot_; }
  [[nodiscard]] std::size_t next_block() const { return next_block_; }

 private:
  [[nodiscard]] double edge(double v) const;
  std::string begin_block();
  void row(const std::string& text) { data_ += text + "\n"; }
  void end_block() { data_ += "EOD\n"; }
  void element(const std::string& text) { plot_ += (plot_.empty() ? "" : ", \\\n  ") + text; }
  void band(const Series& series);
  void points(const Series& series);
  void cells(const Series& series);
  void marks(const Series& series,
             const std::function<bool(std::size_t)>& which,
             int type,
             double size);
  void exceptions(const Series& series);

  const Axis& axis_;
  std::size_t next_block_;
  std::string data_, plot_;
};

}  // namespace kappascope::reports
