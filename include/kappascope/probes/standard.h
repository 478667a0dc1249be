// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kappascope/curvature/operators.h"
#include "kappascope/probes/hessian_spectrum.h"
#include "kappascope/session/session.h"

namespace kappascope::probes {

/// What attach() does where its directory holds a run already. To go on in that run, use resume().
enum class ExistingRun {
  kRefuse,   ///< throws Error
  kNewName,  ///< writes DIR-2, or the next number that is free
};

/// Which of store::layer_probes() run: those that do by default, but for what is set.
class ProbeSwitches {
 public:
  ProbeSwitches();
  /// Throws UsageError where no probe has that name, with the one that is closest.
  void set(std::string_view name, bool on);
  /// Whether it runs. Throws as set() does.
  [[nodiscard]] bool operator[](std::string_view name) const;

 private:
  std::map<std::string, bool, std::less<>> on_;
};

/// Which probes run, and when, within a share of the training time. Within a budget a layer probe
/// begins once training has paid for what it is presumed to cost, with one layer or with all; from
/// then on the layers take turns, as many at a time as the budget pays for. What the budget changes
/// is an event, and a line on stderr with the budget that would pay for all. A Hessian's products
/// are cut to its budget, or its window is put off. A window that fails is an event, and never ends
/// training.
struct ProbeOptions {
  ProbeSwitches layer_probes;
  bool hessian = true;        ///< top eigenvalues and density; needs one of the curvatures below
  bool critical_step = true;  ///< how much longer a step could be; needs `curvature_loss`
  int64_t every = 200;        ///< steps between emissions
  int64_t window = 4;         ///< steps observed for each
  int64_t hessian_every = 0;  ///< steps between spectra; 0 = ten times `every`
  int64_t last_step = -1;     ///< the last step of training when known: measured too
  /// Share of the training time that all probes may use together: half of it for spectra and
  /// critical steps (a tenth of it) where there are some. Of the rest most is for learning times
  /// (store::layer_probes() has the parts), and the others have parts by what each costs. 0 = no
  /// limit: then what is probed depends on step numbers alone.
  double budget = 0.01;
  int64_t sample_rows = 512;  ///< rows kept a layer, for the tails
  bool outputs = true;  ///< `features` measures κ(W_d) and the isotropy of the layer's output too
  HessianSpectrumOptions spectrum;
  /// Evaluates the loss on a fixed batch, without dropout. Empty: no Hessian.
  curvature::LossFunction curvature_loss;
  /// In its place: makes the operator from the parameters, for processes that share them. Empty:
  /// the Hessian of `curvature_loss`.
  std::function<std::unique_ptr<curvature::CurvatureOperator>(
      const curvature::NamedParameters&, tensor::Group*, const curvature::OperatorOptions&)>
      curvature_operator = {};
  ExistingRun existing = ExistingRun::kRefuse;
  std::string parameters = "*";  ///< glob of the parameters whose Hessian is taken
};

/// The standard set of probes. `parameters` gives those whose Hessian is taken, and is called
/// before each of its windows. Throws UsageError for invalid options.
std::vector<session::ScheduledProbe> standard_probes(
    const std::function<curvature::NamedParameters()>& parameters, const ProbeOptions& options);

/// What every run says of itself: version, time, LibTorch, threads, device, number of parameters.
store::Facts standard_facts(const std::string& device, std::int64_t parameters);

/// Makes the run in `dir`, or by kNewName under the next name that is free. Throws Error where a
/// run is in the way. In a group (collective) process 0 makes it, the others get none, and all
/// throw.
std::optional<store::RunWriter> new_run(const std::filesystem::path& dir,
                                        ExistingRun existing,
                                        const store::Facts& facts,
                                        tensor::Group* group = nullptr);

}  // namespace kappascope::probes
