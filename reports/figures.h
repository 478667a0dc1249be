// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "reports/runs/arms.h"

namespace kappascope::reports {

struct Tick {
  double at = 0;
  std::string label{};
};

struct Axis {
  std::string title{};        ///< with the unit, where there is one
  bool log = false;           ///< wanted; a value <= 0 makes the axis linear
  bool may_log = false;       ///< log when the values span more than a factor of 5
  bool signed_log = false;    ///< wanted: log, and on both sides of zero where values lie there
  double threshold = 0;       ///< not 0: asinh(v / threshold) is drawn, which is that scale
  double decades = 0;         ///< log only: at most so many below the largest; 0: all of them
  double min = 0, max = 1;    ///< what is drawn; always finite, positive when log
  std::vector<Tick> ticks{};  ///< empty: the renderer's own
  bool categories = false;    ///< the ticks are names of the places 0, 1, 2, ...
  bool whole_bounds = false;  ///< linear only: the axis holds the bounds however wide they are
};

/// Where a value stands on an axis with a threshold: about linear below it, logarithmic above.
double on_signed_log(double value, double threshold);

/// What a reader wants to know, and a part of the page helps to answer.
enum class Topic : std::uint8_t {
  kNone,
  kTraining,
  kLayers,
  kRate,
  kMean,
  kOptimiser,
  kNumbers,
  kDocuments,  ///< how the runs compare with what a document states: the page of claims
};

enum class Draw { kLine, kPoints, kCells };
enum class Dash { kSolid, kDash, kDot, kDashDot };

/// One quantity of one arm and layer. The vectors have the length of x, or are empty.
struct Series {
  std::size_t arm = 0;     ///< index into the arms; gives colour and marker
  std::string layer{};     ///< empty for the whole model
  std::string quantity{};  ///< what the key calls it: "κ(Σ)"
  std::size_t panel = 0;   ///< index into Figure::panels
  Draw draw = Draw::kLine;
  Dash dash = Dash::kSolid;
  bool faint = false;                    ///< background, such as the loss of every step
  std::vector<double> x{}, y{};          ///< y: NaN is a gap, ±infinity is drawn at the edge
  std::vector<double> lower{}, upper{};  ///< the band, or the error bars of points
  std::vector<double> shade{};           ///< of cells, 0 to 1: how dark they are
  std::vector<double> shown{};           ///< of cells: the number that they show; empty: shade
  std::vector<double> until{};           ///< of cells on an axis of numbers: where each ends on x
  std::vector<std::uint8_t> hollow{};    ///< 1: the number is not resolved
  std::vector<std::string> hover{};      ///< beside the numbers: status, n
};

struct ReferenceLine {
  std::size_t panel = 0;
  double y = 0;
  std::string label{};
};

/// Something that happened at a step: a mark on the upper edge of the first panel.
struct StepMark {
  std::size_t arm = 0;
  double x = 0;
  std::string label{};             ///< what a reader is told of it
  std::set<std::string> alarms{};  ///< their names
  bool non_finite = false;         ///< a number became NaN or infinite: a cross
};

/// A rectangle with a y axis of its own; the x axis belongs to the figure.
struct Panel {
  std::string title{};
  std::string layer{};  ///< of one layer alone: the page hides it where the layer is not picked
  Axis y{};
  double height = 1;  ///< relative to the other rows
};

/// What the page (SVG) and the files (gnuplot) both draw.
struct Figure {
  std::string id{};  ///< file name and anchor: [a-z0-9_]+
  std::string title{};
  Topic topic = Topic::kNone;
  std::string caption{};  ///< what it shows, then notes about what was left out or cannot be drawn
  std::vector<std::string> notes{};  ///< sentences of their own between caption and plot
  std::string missing{};             ///< why there is nothing to draw; panels are empty then
  Axis x{};
  std::size_t columns = 1;
  bool share_rows = false;              ///< one logarithmic y scale a row
  bool share_panels = false;            ///< one y scale for all panels, as the first has it
  std::string hollow = "not resolved";  ///< what a hollow value is, for the caption
  std::vector<Panel> panels{};          ///< row by row
  std::vector<Series> series{};
  std::vector<ReferenceLine> lines{};
  std::vector<StepMark> marks{};
};

/// Colours of the arms after Okabe and Ito (2008), told apart by the colour-blind; the dark ones
/// are lightened to keep 4.5:1 contrast. More arms begin again, with another marker.
inline constexpr std::array<const char*, 8> kLightColours = {
    "#0072b2", "#d55e00", "#00805d", "#b0508a", "#7a6300", "#444444", "#5e3c99", "#8c2d19"};
inline constexpr std::array<const char*, 8> kDarkColours = {
    "#56b4e9", "#ff9550", "#2ed3a5", "#e79bc4", "#e6c229", "#d0d0d0", "#b8a1e3", "#e0846f"};

/// Values, steps and bounds in a page under 5 MB.
inline constexpr std::size_t kMaxNumbers = 220'000;

/// Every figure of the report, in the order of the page, still without axes.
std::vector<Figure> draft_figures(const std::vector<Arm>& arms);

/// Decides the axes and completes the captions. Where the figures hold more than `max_numbers`
/// numbers in all, long series are thinned: ends, extremes and unresolved points stay, and the
/// captions say so.
void finish_figures(std::vector<Figure>& figures, std::size_t max_numbers = kMaxNumbers);

/// Both.
std::vector<Figure> build_figures(const std::vector<Arm>& arms,
                                  std::size_t max_numbers = kMaxNumbers);

}  // namespace kappascope::reports
