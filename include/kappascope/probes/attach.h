// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kappascope/probes/hessian_spectrum.h"
#include "kappascope/train/session.h"

namespace kappascope::probes {

/// What attach() does where its directory holds a run already. To go on in that run, use resume().
enum class ExistingRun {
  kRefuse,   ///< throws Error
  kNewName,  ///< writes DIR-2, or the next number that is free
};

/// Which probes run, and when. Each probe has a time budget, a share of the training time, enforced
/// once its first window has been timed; that window always runs, so a short run costs more
/// (benchmarks/RESULTS.md has the measurements).
struct ProbeOptions {
  bool features = true;           ///< moments and condition numbers
  bool intercept = true;          ///< what the post-gating bias has absorbed
  bool gradient_variance = true;  ///< Lemma 2
  bool hessian = true;            ///< top eigenvalues and density; needs `curvature_loss`
  int64_t every = 200;            ///< steps between emissions
  int64_t window = 4;             ///< steps observed for each
  int64_t hessian_every = 0;      ///< steps between spectra; 0 = ten times `every`
  int64_t last_step = -1;         ///< the last step of training when known: measured too
  /// Share of the training time each probe but the Hessian may use; a window beyond it is left
  /// out. 0 = no limit: then what is probed depends on step numbers alone.
  double budget = 0.005;
  double hessian_budget = 0.005;
  int64_t sample_rows = 512;  ///< rows kept a layer, for the tails
  HessianSpectrumOptions spectrum;
  /// Evaluates the loss on a fixed batch, without dropout. Empty: no Hessian.
  curvature::LossFunction curvature_loss;
  ExistingRun existing = ExistingRun::kRefuse;
  std::string parameters = "*";  ///< glob of the parameters whose Hessian is taken
};

/// The standard set of probes. `model` must outlive them. Throws UsageError for invalid
/// options.
std::vector<train::ScheduledProbe> standard_probes(const torch::nn::Module& model,
                                                   const ProbeOptions& options);

/// Watches a training loop of your own: makes the run directory `dir` and attaches the standard
/// probes to every TappedLinear of `model`. Then call session->step(loss) after each backward(),
/// and session->close() at the end. A loss that is a sum over its tokens needs
/// {.reduction = train::LossReduction::kSum}.
std::unique_ptr<train::Session> attach(torch::nn::Module& model,
                                       const std::filesystem::path& dir,
                                       const ProbeOptions& options = {},
                                       const store::Facts& facts = {},
                                       const train::SessionOptions& session = {});

/// Goes on in the run `dir` from what session->save(file) wrote beside your checkpoint;
/// session->next_step() is the step to go on with. What the run holds of later steps is taken out
/// of it (they come again). Model, optimiser, random state and the order of the data are yours to
/// restore. The probes must be those that the run was started with. Throws when they are not, when
/// the file is damaged, or there is no run in `dir`.
std::unique_ptr<train::Session> resume(torch::nn::Module& model,
                                       const std::filesystem::path& dir,
                                       const std::filesystem::path& file,
                                       const ProbeOptions& options = {},
                                       const train::SessionOptions& session = {});

/// Facts every run should state: version, creation time, LibTorch's version, device, threads, and
/// the number of parameters.
store::Facts standard_facts(const torch::nn::Module& model);

}  // namespace kappascope::probes
