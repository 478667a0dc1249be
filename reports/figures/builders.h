// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/figures.h"
#include "reports/runs/spectra.h"

namespace kappascope::reports {

// One function a figure; draft_figures() lists them in the order of the page.

/// The loss, and what else a training is judged by, on one step axis: the first two panels are the
/// loss and, where a layer was measured, the first number of the worst; between them, with
/// `over_first`, the losses over the first arm's.
Figure overview(const std::vector<Arm>& arms, bool over_first = true);
/// Steps of gradient descent to learn 90 %, a panel a layer; empty where nobody measured them.
Figure learning_layers(const std::vector<Arm>& arms);
/// Those with the mean of the features over those without it; empty where nobody measured them.
Figure mean_costs(const std::vector<Arm>& arms);
/// What other probes of a layer measure, a figure a question; only those that somebody measured.
std::vector<Figure> layer_figures(const std::vector<Arm>& arms);
/// The busiest and the idlest expert of each bank; empty where there are none.
Figure expert_load(const std::vector<Arm>& arms);
/// The same of condition numbers, and with the mean over those without it.
Figure kappa_layers(const std::vector<Arm>& arms);
Figure kappa_costs(const std::vector<Arm>& arms);
/// Steps by layers as cells, a panel an arm; empty up to kManyLayers.
Figure kappa_map(const std::vector<Arm>& arms);
Figure accuracies(const std::vector<Arm>& arms);
/// Steps and rows per second, memory, and the share of probing; empty where no costs were recorded.
Figure throughput(const std::vector<Arm>& arms);
Figure intercept_absorption(const std::vector<Arm>& arms);
Figure hessian_eigenvalues(const std::vector<Arm>& arms);
/// Multiples of the optimiser's steps; empty where nobody measured them.
Figure critical_steps(const std::vector<Arm>& arms);
Figure hessian_density(const std::vector<Arm>& arms);
Figure gradient_variance(const std::vector<Arm>& arms);
Figure variance_by_bias(const std::vector<Arm>& arms);

/// The stored spectra of one operator on one block, an arm each at most.
struct SpectrumGroup {
  std::string id{};  ///< begins the ids of its figures
  std::vector<StoredSpectrum> spectra{};
};
std::vector<SpectrumGroup> spectrum_groups(const std::vector<Arm>& arms);
/// What stands there when no run has one.
Figure no_spectrum();
Figure spectrum_eigenvalues(const SpectrumGroup& group, const std::vector<Arm>& arms);
/// The limits of the group's arms, a line for each that differs, and what they are in the caption.
void add_spectrum_limits(Figure& figure, const SpectrumGroup& group, const std::vector<Arm>& arms);
Figure spectrum_density(const SpectrumGroup& group, const std::vector<Arm>& arms);
Figure spectrum_vectors(const SpectrumGroup& group, const std::vector<Arm>& arms);

/// The alarms of the runs, those of one step together.
std::vector<StepMark> event_marks(const std::vector<Arm>& arms);

/// Whether the arms are medians over seeds, whose bounds are range_over_seeds().
bool over_seeds(const std::vector<Arm>& arms);

/// Ranges, scales and ticks of every panel, from the series and reference lines in it.
void set_axes(Figure& figure);

/// The series of one arm, or nothing when the run has no such series.
std::optional<Series> series_of(const std::vector<Arm>& arms,
                                std::size_t arm,
                                const std::string& name,
                                const std::string& layer,
                                const std::string& quantity);

/// One over the other, with its bounds, NaN at steps that the other lacks; nothing without both.
std::optional<Series> quotient_of(std::optional<Series> series, const std::optional<Series>& by);

/// Adds it to the panel when there is one; returns whether there was.
bool add_series(Figure& figure,
                std::size_t panel,
                std::optional<Series> series,
                Dash dash = Dash::kSolid,
                bool faint = false);

/// A panel a layer over the steps, three a row at most, on one scale.
void add_layer_panels(Figure& figure, const std::vector<std::string>& layers, const Axis& y);

/// κ(Σ+(μ+b)(μ+b)ᵀ) where the arm has it in this layer, else κ(Σ+μμᵀ): the regressor of W_d at
/// b = 0.
std::string block_kappa(const Arm& arm, const std::string& layer);

/// λ1 as the optimiser sees it over its limit, at the steps that have both.
std::optional<Series> share_of_limit(const std::vector<Arm>& arms, std::size_t arm);

/// Steps to 90 % of the same matrix.
std::string block_steps(const Arm& arm, const std::string& layer);

/// More layers than this are a map first, and small multiples of those that are picked.
inline constexpr std::size_t kManyLayers = 6;

inline constexpr const char* kBlockStepsTitle = "steps to learn 90 %";
inline constexpr const char* kBlockKappaTitle = "κ of the W_d block";

}  // namespace kappascope::reports
