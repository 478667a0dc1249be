// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kappascope/probes/standard.h"
#include "kappascope/session/session.h"

namespace torch::nn {
class Module;
}

namespace kappascope::probes {

/// A session that sees the TappedLinear layers of a model. Training is bit-identical with and
/// without it.
///
///   TappedSession session(*model, std::move(run), std::move(probes));
///   for (...) {
///     loss = ...; loss.backward(); session.step(loss.item<double>()); optimizer.step();
///   }
///   session.close();
///
/// Gradient accumulation: several forward and backward passes, then one step(). With mean-reduced
/// losses the passes must add up to the mean over all of their rows (loss / passes for passes of
/// equal size), as the gradient that the optimiser sees does.
class TappedSession final : public session::Session {
 public:
  /// `model` must outlive the session. Throws when it holds no TappedLinear but a probe needs one.
  TappedSession(torch::nn::Module& model,
                std::optional<store::RunWriter> run,
                std::vector<session::ScheduledProbe> probes,
                session::SessionOptions options = {});
  ~TappedSession() override;

  /// Writes state() to a file, from which probes::resume() goes on in another process.
  void save(const std::filesystem::path& file);

 private:
  void listen(const session::Needs& needs) override;

  torch::nn::Module& model_;
  bool listening_ = false;
};

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
