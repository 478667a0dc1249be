// SPDX-License-Identifier: Apache-2.0
#include "tensor/magnitudes.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "probes/layer_probes.h"
#include "probes/layer_rows.h"
#include "probes/layer_windows.h"
#include "probes/scalars.h"

namespace kappascope::probes {
namespace {

namespace id = store::id;

constexpr const char* kLargestByChannel = "largest_by_channel";

struct MagnitudeLayer {
  LayerRows kept;
  at::Tensor largest{};  // |phi| of all rows, [d], NaN where one is; undefined before the first

  static int64_t most(int64_t features) {
    constexpr int64_t kValues = 1 << 19, kFewest = 128, kMost = 4096;
    return std::clamp(kValues / features, kFewest, kMost);
  }

  explicit MagnitudeLayer(int64_t features) : kept(most(features), features) {}
  explicit MagnitudeLayer(const tensor::State& state) : kept(state) {
    if (state.has(kLargestByChannel))
      largest = state.floating_tensor(kLargestByChannel, {kept.dimension});
  }

  [[nodiscard]] tensor::State state() const {
    auto out = kept.state();
    if (largest.defined()) out.set(kLargestByChannel, largest);
    return out;
  }

  void merge(const MagnitudeLayer& other) {
    kept.merge(other.kept, most(kept.dimension));
    if (other.largest.defined()) largest = larger(largest, other.largest);
  }

  void write(const std::string& name, store::Snapshot& out) const {
    if (!largest.defined()) return;
    const auto of_all = largest.max().item<double>();
    const auto found = tensor::magnitudes(kept.sample.rows(), kept.sample.group_rows(), of_all);
    const auto add = [&](const std::string& series, const tensor::Magnitude& magnitude) {
      if (std::isnan(magnitude.lower)) {
        add_scalar(out, series, name, magnitude.value);
      } else {
        add_scalar(out, series, name, magnitude.value, magnitude.lower, magnitude.upper);
      }
      out.scalars.back().n = static_cast<double>(found.rows);
      out.scalars.back().n_effective = static_cast<double>(found.groups);
      // Nothing is shared among values that are all 0, and nothing is lost of them.
      if (std::isnan(magnitude.value) && of_all == 0)
        out.scalars.back().status = store::Status::kUndefined;
    };
    add_scalar(out, id::kLargest, name, of_all);
    add_scalar(
        out, id::kDeadFeatures, name, static_cast<double>((largest == 0).sum().item<int64_t>()));
    add(id::kMedianMagnitude, found.median);
    add(id::kHighMagnitude, found.p99);
    add(id::kChannelKurtosis, found.channel_kurtosis);
    add(id::kZeros, found.zeros);
    add(id::kLostE4m3, found.lost_e4m3);
    add(id::kLostE5m2, found.lost_e5m2);
    add(id::kLostMxfp8, found.lost_mxfp8);
  }
};

/// How large the features of every tapped layer are, how unevenly their channels share that, and
/// what 8-bit formats would keep (tensor/magnitudes.h): magnitude/* per layer, and features/dead.
/// The largest value and the channels that are always zero are those of all rows of the window, all
/// else of a sample of them: half a million values, of 128 rows at least. Cost: two passes over the
/// rows, and at emission a sort of the sample.
class Magnitudes final : public RowWindows<MagnitudeLayer> {
 public:
  [[nodiscard]] std::string_view name() const override { return "magnitudes"; }
  /// A tenth of what learning times take: benchmarks/layer_probes.cpp (0.07 of it for 3,072
  /// features, 0.06 for 14,336).
  [[nodiscard]] double presumed_cost() const override { return 1.2e-8; }

 private:
  void add_rows(const session::LayerView& view, MagnitudeLayer& layer) override {
    const torch::NoGradGuard no_grad;
    const auto rows = view.mask.defined() ? view.features.index({view.mask}) : view.features;
    if (rows.numel() == 0) return;
    const auto largest = torch::maximum(rows.amax(0), -rows.amin(0));
    layer.largest = larger(layer.largest, largest.to(torch::kDouble));
  }
};

}  // namespace

std::unique_ptr<session::Probe> make_magnitudes(const ProbeOptions& /*options*/) {
  return std::make_unique<Magnitudes>();
}

}  // namespace kappascope::probes
