// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "lab/nn/asger.h"
#include "lab/nn/gated_mlp.h"
#include "lab/nn/iso_gmlp.h"

namespace kappascope::nn {

/// The feed-forward layers there are.
using FeedForwardOptions = std::variant<GatedMlpOptions, AsgerOptions, IsoGmlpOptions>;

/// swiglu, geglu, geglu-tanh, reglu, bilinear, asger or isogmlp, with every other option as it
/// stands by itself. Throws UsageError.
FeedForwardOptions parse_feed_forward(const std::string& name, int64_t width, int64_t hidden);

/// A new layer, which is a torch::nn::Module as well.
std::shared_ptr<FeedForward> make_feed_forward(const FeedForwardOptions& options);

int64_t width_of(const FeedForwardOptions& options);  ///< d_model
/// What enters the down-projection.
int64_t features_of(const FeedForwardOptions& options);
FeedForwardOptions with_bias(FeedForwardOptions options, BiasPlacement bias);
/// Of learnable numbers, without making the layer.
int64_t parameter_count(const FeedForwardOptions& options);

}  // namespace kappascope::nn
