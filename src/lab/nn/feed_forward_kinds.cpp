// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/feed_forward_kinds.h"

#include <torch/types.h>

#include "kappascope/core/error.h"

namespace kappascope::nn {
namespace {

std::shared_ptr<FeedForward> make(const GatedMlpOptions& options) {
  return std::make_shared<GatedMlpImpl>(options);
}
std::shared_ptr<FeedForward> make(const AsgerOptions& options) {
  return std::make_shared<AsgerImpl>(options);
}
std::shared_ptr<FeedForward> make(const IsoGmlpOptions& options) {
  return std::make_shared<IsoGmlpImpl>(options);
}

int64_t features(const GatedMlpOptions& options) {
  return options.hidden();
}
int64_t features(const AsgerOptions& options) {
  return asger_hidden(options);
}
int64_t features(const IsoGmlpOptions& options) {
  return options.hidden() + iso_width(options);
}

/// All but the down-projection with its biases.
int64_t inner(const GatedMlpOptions& options) {
  return 2 * (options.inputs() > 0 ? options.inputs() : options.width()) * options.hidden();
}
int64_t inner(const AsgerOptions& options) {
  const auto f = asger_hidden(options);
  return 2 * options.width() * f + (options.spatial() ? 2 * f * f : 0) +
         (options.learn_alpha() ? 1 : 0) + (options.learn_beta() ? 1 : 0);
}
int64_t inner(const IsoGmlpOptions& options) {
  const auto k = iso_width(options);
  const int64_t branch =
      options.branch() ? options.width() * k + 1 + (options.layer_norm() ? 2 * k : 0) : 0;
  return 2 * options.width() * options.hidden() + branch;
}

}  // namespace

FeedForwardOptions parse_feed_forward(const std::string& name, int64_t width, int64_t hidden) {
  if (name == "asger") return AsgerOptions(width, hidden);
  if (name == "isogmlp") return IsoGmlpOptions(width, hidden);
  try {
    return GatedMlpOptions(width, hidden).gate(parse_gate(name));
  } catch (const UsageError& error) {
    throw UsageError(std::string(error.what()) + ", asger or isogmlp");
  }
}

std::shared_ptr<FeedForward> make_feed_forward(const FeedForwardOptions& options) {
  return std::visit([](const auto& kind) { return make(kind); }, options);
}

int64_t width_of(const FeedForwardOptions& options) {
  return std::visit([](const auto& kind) { return kind.width(); }, options);
}

int64_t features_of(const FeedForwardOptions& options) {
  return std::visit([](const auto& kind) { return features(kind); }, options);
}

FeedForwardOptions with_bias(FeedForwardOptions options, BiasPlacement bias) {
  std::visit([&](auto& kind) { kind.bias(bias); }, options);
  return options;
}

int64_t parameter_count(const FeedForwardOptions& options) {
  return std::visit(
      [](const auto& kind) {
        const auto f = features(kind), d = kind.width();
        const auto bias = kind.bias();
        return inner(kind) + f * d + (learns_post_gating(bias) ? f : 0) +
               (has_output_bias(bias) ? d : 0);
      },
      options);
}

}  // namespace kappascope::nn
