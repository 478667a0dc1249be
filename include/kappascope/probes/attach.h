// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kappascope/probes/standard.h"
#include "kappascope/probes/tapped_session.h"

namespace kappascope::probes {

/// The standard set of probes, the Hessian's over the parameters of `model` that options.parameters
/// names. `model` must outlive them. Throws UsageError for invalid options.
std::vector<session::ScheduledProbe> standard_probes(const torch::nn::Module& model,
                                                     const ProbeOptions& options);

/// Watches a training loop of your own: makes the run directory `dir` and attaches the standard
/// probes to every TappedLinear of `model`. Then call session->step(loss) after each backward(),
/// and session->close() at the end. A loss that is a sum over its tokens needs
/// {.reduction = session::LossReduction::kSum}; one of several processes needs {.group = ...}, and
/// each of them attaches.
std::unique_ptr<TappedSession> attach(torch::nn::Module& model,
                                      const std::filesystem::path& dir,
                                      const ProbeOptions& options = {},
                                      const store::Facts& facts = {},
                                      const session::SessionOptions& session = {});

/// Goes on in the run `dir` from what session->save(file) wrote beside your checkpoint;
/// session->next_step() is the step to go on with. What the run holds of later steps is taken out
/// of it (they come again). Model, optimiser, random state and the order of the data are yours to
/// restore. A probe that the saved session did not have begins here. Throws when the file is
/// damaged or there is no run in `dir`.
std::unique_ptr<TappedSession> resume(torch::nn::Module& model,
                                      const std::filesystem::path& dir,
                                      const std::filesystem::path& file,
                                      const ProbeOptions& options = {},
                                      const session::SessionOptions& session = {});

/// Facts every run should state: version, creation time, LibTorch's version, device, threads, and
/// the number of parameters.
store::Facts standard_facts(const torch::nn::Module& model);

}  // namespace kappascope::probes
