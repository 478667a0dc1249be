// SPDX-License-Identifier: Apache-2.0
// What features and weights of the layers are like: what grows over the steps, and all layers
// beside each other at the end.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "reports/figures/builders.h"
#include "reports/runs/layer_names.h"

namespace kappascope::reports {
namespace {

constexpr double kNoBound = std::numeric_limits<double>::quiet_NaN();

/// A series of a figure that draws the same ones of every layer.
struct Drawn {
  store::SeriesId series;
  const char* quantity;
  Dash dash = Dash::kSolid;
};
using AllDrawn = std::vector<Drawn>;

/// Those that have any of the series.
std::vector<std::string> layers_with(const std::vector<Arm>& arms, const AllDrawn& all) {
  std::vector<std::string> layers;
  for (const auto& drawn : all) {
    for (const auto& layer : layers_of(arms, drawn.series))
      if (std::ranges::find(layers, layer) == layers.end()) layers.push_back(layer);
  }
  std::ranges::sort(layers, natural_less);
  return layers;
}

Figure over_steps(Figure figure, const std::vector<Arm>& arms, const Axis& y, const AllDrawn& all) {
  figure.topic = Topic::kLayers;
  figure.caption += " All panels share a scale.";
  add_layer_panels(figure, layers_with(arms, all), y);
  for (std::size_t panel = 0; panel < figure.panels.size(); ++panel) {
    const auto& layer = figure.panels[panel].layer;
    for (std::size_t a = 0; a < arms.size(); ++a)
      for (const auto& [series, quantity, dash] : all)
        add_series(figure, panel, series_of(arms, a, series, layer, quantity), dash);
  }
  return figure;
}

/// The newest value of each layer, by the layer's place.
std::optional<Series> at_the_end(const Arm& arm,
                                 std::size_t a,
                                 const Drawn& drawn,
                                 const std::vector<std::string>& layers) {
  Series series{.arm = a, .quantity = drawn.quantity};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto found = arm.last(drawn.series, layers[i]);
    if (!found) continue;
    const auto& scalar = found->scalar;
    series.x.push_back(static_cast<double>(i + 1));
    series.y.push_back(scalar.value);
    series.lower.push_back(scalar.lower.value_or(kNoBound));
    series.upper.push_back(scalar.upper.value_or(kNoBound));
    series.hollow.push_back(is_resolved(scalar) ? 0 : 1);
    series.hover.push_back(layers[i] + ", step " + std::to_string(found->step));
  }
  if (series.x.empty()) return std::nullopt;
  return series;
}

Figure magnitudes(const std::vector<Arm>& arms) {
  return over_steps(
      {.id = "magnitudes",
       .title = "How large the features are",
       .caption = "Sizes of the features φ that enter the down-projection: the largest of the "
                  "window, dashed the 99th percentile, dotted the median. A largest above 100 and "
                  "above 1,000 times the median is called a massive activation."},
      arms,
      {.title = "|φ|", .log = true},
      {{id::kLargest, "largest"},
       {id::kHighMagnitude, "99 %", Dash::kDash},
       {id::kMedianMagnitude, "median", Dash::kDot}});
}

Figure alignment(const std::vector<Arm>& arms) {
  return over_steps(
      {.id = "alignment",
       .title = "How far gate and up-projection are aligned",
       .caption = "|cos| between a channel's rows of W_gate and W_up: the largest, dashed the "
                  "median over the channels. Near 1 a SwiGLU channel squares one projection, and "
                  "its largest values grow; rows drawn at random have about 1/√d_model."},
      arms,
      {.title = "|cos|"},
      {{id::kLargestAlignment, "largest"}, {id::kAlignment, "median", Dash::kDash}});
}

Figure updates(const std::vector<Arm>& arms) {
  return over_steps(
      {.id = "updates",
       .title = "How far a step moves the weights",
       .caption = "‖δ‖ / ‖W‖ of a step's update δ: W_d, dashed W_gate, dotted W_up, as the weights "
                  "are stored. It follows the learning rate; about 0.001 is common in training "
                  "with Adam."},
      arms,
      {.title = "share of the weights", .log = true},
      {{id::kDownUpdate, "W_d"},
       {id::kGateUpdate, "W_gate", Dash::kDash},
       {id::kUpUpdate, "W_up", Dash::kDot}});
}

Figure gates(const std::vector<Arm>& arms) {
  return over_steps(
      {.id = "gates",
       .title = "How far the gates are open",
       .caption = "Share of what enters the activation of the gate, over rows and channels: above "
                  "0, dashed beyond ±4. Below -4 SiLU and its slope are near 0, and a row teaches "
                  "the channel little; above 4 SiLU is nearly the identity. By symmetry about half "
                  "is open at the start."},
      arms,
      {.title = "share"},
      {{id::kGatesOpen, "above 0"}, {id::kGatesSaturated, "beyond ±4", Dash::kDash}});
}

Figure routers(const std::vector<Arm>& arms) {
  return over_steps(
      {.id = "routers",
       .title = "How evenly and how surely tokens are sent to experts",
       .caption =
           "Entropy of the router's softmax over that of all experts alike: 1 where they are "
           "alike to it, 0 where it is sure of one. Dashed: the share of the tokens whose "
           "experts can change when the logits are rounded to bfloat16."},
      arms,
      {.title = "share"},
      {{id::kRouterEntropy, "entropy"}, {id::kRouterClose, "close", Dash::kDash}});
}

Figure attention_logits(const std::vector<Arm>& arms) {
  return over_steps(
      {.id = "attention_logits",
       .title = "How large the attention logits are",
       .caption = "The largest product of a query and a key before the softmax, over all heads, of "
                  "a sample of sequences and queries: a lower bound of the largest. Logits that "
                  "grow make attention look at one token and the loss spike; above about 100 some "
                  "trainings clip them."},
      arms,
      {.title = "logit", .may_log = true},
      {{id::kLargestLogit, "largest"}});
}

Figure attention_entropy(const std::vector<Arm>& arms) {
  return over_steps(
      {.id = "attention_entropy",
       .title = "How widely attention looks",
       .caption =
           "Entropy of the attention over that of attending to all keys alike: the mean over "
           "heads, dashed the head that has least. 1 looks everywhere, 0 at one token."},
      arms,
      {.title = "entropy"},
      {{id::kAttentionEntropy, "mean"}, {id::kLowestEntropy, "lowest head", Dash::kDash}});
}

Figure layer_profile(const std::vector<Arm>& arms) {
  struct Shown {
    Panel panel;
    AllDrawn drawn;
  };
  // One call each: where memory ends in a nested list of initialisers GCC 12 frees its parts twice.
  std::vector<Shown> all;
  const auto show = [&](Panel panel, AllDrawn drawn) {
    all.push_back({std::move(panel), std::move(drawn)});
  };
  show({.title = "kurtosis of the channels", .y = {.title = "1: all alike", .may_log = true}},
       {{id::kChannelKurtosis, "kurtosis"}});
  show({.title = "gates that never move", .y = {.title = "channels", .may_log = true}},
       {{id::kGatesClosed, "closed"}, {id::kGatesAlwaysOpen, "open", Dash::kDash}});
  show({.title = "rounded to zero by 8-bit formats", .y = {.title = "share of the values ≠ 0"}},
       {{id::kLostE4m3, "e4m3"},
        {id::kLostE5m2, "e5m2", Dash::kDash},
        {id::kLostMxfp8, "MXFP8", Dash::kDot}});
  show({.title = "largest singular value", .y = {.title = "of the weights", .may_log = true}},
       {{id::kDownNorm, "W_d"},
        {id::kGateNorm, "W_gate", Dash::kDash},
        {id::kUpNorm, "W_up", Dash::kDot}});
  show({.title = "stable rank", .y = {.title = "of the weights", .may_log = true}},
       {{id::kDownStableRank, "W_d"},
        {id::kGateStableRank, "W_gate", Dash::kDash},
        {id::kUpStableRank, "W_up", Dash::kDot}});
  Figure figure{.id = "layer_profile",
                .title = "The layers beside each other, at the end",
                .topic = Topic::kLayers};
  figure.x.title = "layer";
  figure.columns = 2;
  AllDrawn every;
  for (const auto& shown : all) every.insert(every.end(), shown.drawn.begin(), shown.drawn.end());
  const auto layers = layers_with(arms, every);
  constexpr std::size_t kFew = 12;
  const LayerNames short_name(layers);
  for (std::size_t place = 1; place <= layers.size() && layers.size() <= kFew; ++place)
    figure.x.ticks.push_back({static_cast<double>(place), short_name(layers[place - 1])});
  for (const auto& [panel, drawn] : all) {
    bool is_open = false;
    for (std::size_t a = 0; a < arms.size(); ++a) {
      for (const auto& one : drawn) {
        auto series = at_the_end(arms[a], a, one, layers);
        if (!series) continue;
        if (!is_open) figure.panels.push_back(panel);
        is_open = true;
        add_series(figure, figure.panels.size() - 1, std::move(series), one.dash);
      }
    }
  }
  figure.caption =
      "Each layer as it was measured last. Kurtosis: d Σ m² / (Σ m)² of the mean squares m of the "
      "d "
      "channels, 1 where all are alike, d where one holds everything. 8-bit formats: e4m3 and, "
      "dashed, e5m2 with one scale for the tensor, dotted MXFP8 with a scale for every 32 "
      "channels. "
      "Weights: W_d, dashed W_gate, dotted W_up; stable rank ‖W‖_F² / σ_max² is 1 where one "
      "direction is all.";
  return figure;
}

}  // namespace

std::vector<Figure> layer_figures(const std::vector<Arm>& arms) {
  std::vector<Figure> figures;
  for (auto* draw : {magnitudes,
                     alignment,
                     updates,
                     gates,
                     expert_load,
                     routers,
                     attention_logits,
                     attention_entropy,
                     layer_profile})
    if (auto figure = draw(arms); !figure.panels.empty()) figures.push_back(std::move(figure));
  return figures;
}

}  // namespace kappascope::reports
