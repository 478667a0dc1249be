// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace kappascope::train {

/// Everything that decides a training run, as it stands in a configuration file ([section] key).
struct TrainConfig {
  std::string label;  ///< what the arm is called in reports; made from the bias if empty
  // [data]
  std::string data = "/usr/share/datasets/fashion-mnist";  ///< as data::open_images takes it
  int64_t image_size = 0;  ///< of the files of an image folder, scaled to it
  // [model]
  std::string ffn = "swiglu";  ///< swiglu | geglu | geglu-tanh | reglu | bilinear
  int64_t width = 64, hidden = 128, blocks = 2;
  bool residual = true;
  std::string bias = "none";             ///< none | post-gating | output | both
  double dropout = 0;                    ///< probability of zeroing
  std::string dropout_placement = "up";  ///< up | product
  // [train]
  std::string loss =
      "cross-entropy";  ///< cross-entropy | squared (½ ‖outputs - one-hot‖², mean over images)
  std::string optimizer = "adam";  ///< adam | adamw | sgd
  double learning_rate = 1e-3;
  double final_learning_rate = 0.1;   ///< share of learning_rate at the end of the cosine
  std::string schedule = "cosine";    ///< cosine | constant
  int64_t warmup = 0;                 ///< steps of linear warm-up
  double momentum = 0;                ///< of SGD
  double beta1 = 0.9, beta2 = 0.999;  ///< of Adam and AdamW
  double weight_decay = 0;
  double epochs = 1;
  int64_t steps = 0;  ///< instead of epochs when > 0
  int64_t batch = 256;
  std::uint64_t seed = 1;
  int64_t eval_every = 0;        ///< steps between test losses; 0 = twenty times in the run
  int64_t checkpoint_every = 0;  ///< steps between checkpoints; 0 = ten times in the run
  int threads = 0;               ///< 0 = as LibTorch chooses
  // [attack]
  int64_t attack_rows = 0;   ///< test images that are attacked at each evaluation
  double fgsm_radius = 0.1;  ///< of the one-step attack
  double pgd_radius = 0.1;   ///< of projected gradient descent
  int pgd_steps = 40;
  double pgd_step_size = 0.01;

  /// Throws UsageError naming the first option that cannot be meant.
  void validate() const;
};

/// The learning rate of `step` in a run of `steps`: linear warm-up, then constant or half a cosine.
double learning_rate_at(const TrainConfig& config, int64_t step, int64_t steps);

}  // namespace kappascope::train
