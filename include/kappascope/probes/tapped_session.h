// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

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

}  // namespace kappascope::probes
