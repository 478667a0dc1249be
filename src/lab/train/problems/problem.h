// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "kappascope/store/run.h"
#include "lab/data/images.h"
#include "lab/train/config.h"

namespace torch::nn {
class Module;
}

namespace kappascope::train {

/// What reading training rows took: the time that their passes waited, and how many they were.
struct InputTime {
  double seconds = 0;
  int64_t rows = 0;
};

/// A model and its data. Rows (images, windows of text) are selected by index; the model evaluates
/// them in its current mode, training or evaluation.
class Problem {
 public:
  virtual ~Problem() = default;
  [[nodiscard]] virtual torch::nn::Module& model() = 0;
  [[nodiscard]] virtual int64_t rows(data::Split split) const = 0;
  /// The plural name of a row: "images".
  [[nodiscard]] virtual std::string unit() const = 0;
  /// The terms of the loss, whose mean is minimised: one per image, or one per token [k, tokens].
  [[nodiscard]] virtual at::Tensor losses(data::Split split, const at::Tensor& indices) = 0;
  /// The mean of losses(), summed in `type` or, without one, in that of the terms. The terms
  /// themselves need not be held.
  [[nodiscard]] virtual at::Tensor mean_loss(data::Split split,
                                             const at::Tensor& indices,
                                             std::optional<at::ScalarType> type = {});
  /// Whether the training loss is the mean of the rows' own losses. Only then is a batch a sample
  /// of a loss over the data, and a row has a gradient of its own.
  [[nodiscard]] virtual bool is_mean_over_rows() const { return true; }
  /// Outputs [terms, classes] from which the loss's terms are made by cross entropy or by squared
  /// distance, for Gauss-Newton. Throws UsageError where the loss is of another kind.
  [[nodiscard]] virtual at::Tensor outputs(data::Split split, const at::Tensor& indices) = 0;
  /// Says which training rows the next step takes, while this one's are in use. Where the model is
  /// on a device, the host reads them meanwhile.
  virtual void expect(const at::Tensor& /*indices*/) {}
  /// What is measured on the test part, in evaluation mode: `loss/test` first. The mode is
  /// restored. `share`: rows of the batch that this process trains, more than which a large model
  /// does not evaluate at once.
  [[nodiscard]] virtual std::vector<store::Scalar> evaluate(int64_t share) = 0;
  [[nodiscard]] const InputTime& input() const { return input_; }

 protected:
  /// What `read` makes of the rows; its time counts where they are training rows.
  template <typename Read>
  at::Tensor timed(data::Split split, const at::Tensor& indices, Read read) {
    if (split != data::Split::kTrain) return read();
    const auto start = monotonic_seconds();
    auto values = read();
    input_.seconds += monotonic_seconds() - start;
    input_.rows += indices.numel();
    return values;
  }

 private:
  InputTime input_;
};

/// Opens the data and builds the model of `config`, its weights drawn from the global random state.
/// Throws UsageError or Error.
std::unique_ptr<Problem> make_problem(const TrainConfig& config);

/// Parameters of a language model (`config.kind`), from its configuration alone: no data, no
/// weights. A vocabulary of 0 is that of bytes, 256.
int64_t language_model_parameters(const TrainConfig& config);

}  // namespace kappascope::train
