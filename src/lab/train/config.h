// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace kappascope::train {

/// What a configuration says of a transformer beyond what it says of every model.
struct TransformerConfig {
  // of the language model
  std::string preset;            ///< a whole model by name (nn::language_model); or, if empty:
  int64_t preset_blocks = 0;     ///< the first of the preset's blocks that are kept; 0: all
  std::string layout = "qwen3";  ///< llama | phi3 | qwen3 | gemma3
  int64_t heads = 4;
  int64_t kv_heads = 0;      ///< 0: as many as heads
  int64_t window = 32;       ///< of Gemma's local layers
  int64_t global_every = 6;  ///< of Gemma: every n-th layer attends to all tokens before it
  bool norm_bias = false;
  std::string norm;            ///< rms | layer | batch; empty: the layout's
  std::string norm_order;      ///< pre | post | sandwich; empty: the layout's
  std::string attention_bias;  ///< which of q, k, v, o have one: "qkvo"
  bool rotary = true;
  double residual_dropout = 0;  ///< of what each branch adds
  bool fused_attention = true;  ///< faster; second derivatives are then by finite differences
  // of ASGER and of IsoGMLP (model.ffn)
  double alpha = 0.5, beta = 1;
  bool learn_alpha = false, learn_beta = false, spatial = true, balanced = false;
  bool branch = true, branch_norm = true, orthogonal = true, scaled_start = false;
  int64_t branch_width = 0;  ///< 0: hidden / 8
  double temperature = 1;
  /// Of the weights of linear layers and embeddings, in language models and the ViT-VAE.
  double initial_deviation = 0.02;
  // of the ViT-VAE; `blocks` are those of the encoder and of the decoder each
  int64_t patch = 0;  ///< pixels a side; 0: the largest up to 16 that makes at least 4 x 4 patches
  int64_t latent = 64;
  double latent_noise = 0.1, length_weight = 1e-3;
};

/// Everything that decides a training run, as it stands in a configuration file ([section] key).
struct TrainConfig {
  std::string label;  ///< what the arm is called in reports; made from the bias if empty
  // [data]
  std::string data = "/usr/share/datasets/fashion-mnist";  ///< as data::open_images takes it
  int64_t context = 128;                                   ///< tokens a window of text predicts
  int64_t vocabulary = 0;                                  ///< of a folder of token files
  int token_bits = 16;                                     ///< of their tokens: 16 or 32
  int64_t image_size = 0;  ///< of the files of an image folder, scaled to it
  /// The classifier sees (x - mean)/deviation, by channel over the training images. Attacks are in
  /// pixels unless attack.units says otherwise.
  bool normalise = false;
  int64_t rows = 0;  ///< of the classifier: only the first so many training images; 0: all
  // [model]
  std::string kind = "mlp";  ///< mlp | language | vit-vae
  /// As nn::parse_feed_forward takes it; empty: SwiGLU, or what the language model's layout has.
  std::string ffn;
  int64_t width = 64, hidden = 128, blocks = 2;
  bool residual = true;
  bool embedding = true;      ///< of the classifier: an affine map before the gated layers
  std::string bias = "none";  ///< none | post-gating | output | both | centred | centred-output
  std::string bias_start = "zero";  ///< zero | mean: of b, or minus the first batch's mean
  double dropout = 0;               ///< probability of zeroing
  std::string init;                 ///< safetensors file or folder of the initial weights, by name
  /// up | product; empty: up, or after the product where the layout has it there (Gemma).
  std::string dropout_placement;
  TransformerConfig transformer;
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
  /// all | matrices: what decays. Matrices are the weights of linear layers; norms, biases,
  /// embeddings (also where they are the output layer, too), positions and scalars are not.
  std::string decay_of = "all";
  double epochs = 1;
  int64_t steps = 0;  ///< instead of epochs when > 0
  int64_t batch = 256;
  int64_t micro_batch = 0;  ///< rows of one forward and backward pass; 0: the whole batch
  int64_t logit_rows = 0;   ///< of a language model: tokens whose logits are held at once; 0: all
  bool recompute = false;   ///< of transformer blocks: run again in the backward pass, not kept
  std::uint64_t seed = 1;
  int64_t eval_rows = 0;              ///< test rows of a test loss; 0 = all
  int64_t eval_every = 0;             ///< steps between test losses; 0 = twenty times in the run
  int64_t checkpoint_every = 0;       ///< steps between checkpoints; 0 = ten times in the run
  int64_t keep_checkpoints = 3;       ///< so many of the newest stay; 0 = all
  std::string precision = "float32";  ///< float32 | bf16 | fp16, of products of matrices
  std::string device = "cpu";         ///< cpu | cuda | cuda:N | auto
  int threads = 0;                    ///< 0 = as LibTorch chooses
  // [attack]
  int64_t attack_rows = 0;  ///< test images that are attacked at each evaluation
  // of the document's attack
  double attack_start = 0.2;    ///< half width of the noise from which it starts
  std::string ball = "inputs";  ///< inputs | start | none
  bool clip = true;             ///< pixels stay in [0, 1]
  /// pixels | inputs: of noise, steps and ball; inputs are what the network sees (data.normalise),
  /// which are not clipped.
  std::string units = "pixels";
  double fgsm_radius = 0.1;  ///< of the one-step attack
  double pgd_radius = 0.1;   ///< of projected gradient descent
  int pgd_steps = 40;
  double pgd_step_size = 0.01;

  /// Throws UsageError that names the first invalid option.
  void validate() const;
  /// Whether the gradients of a batch's parts add up to the batch's: a loss that is a mean over
  /// rows, and no norm over them.
  [[nodiscard]] bool can_be_parted() const;
  /// Whether train.recompute may be set: transformer blocks without a norm over rows.
  [[nodiscard]] bool can_recompute() const;
  /// Steps of the whole run with so many training rows; an epoch has the whole batches in them.
  [[nodiscard]] int64_t steps_with(int64_t training_rows) const;
  /// Of a run of so many steps.
  [[nodiscard]] int64_t steps_between_checkpoints(int64_t run_steps) const;
  /// Throws UsageError that says why so many processes cannot share each batch.
  void require_shared_by(int64_t processes) const;
};

/// "gated MLP, swiglu, 3 blocks of 64 to 128": the model for a reader.
std::string model_in_words(const TrainConfig& config);

/// "adam", "sgd, momentum 0.9": the optimiser for a reader, one word where it has no momentum of
/// its own to tell.
std::string optimizer_in_words(const TrainConfig& config);

/// The learning rate of `step` in a run of `steps`: linear warm-up, then constant or half a cosine.
double learning_rate_at(const TrainConfig& config, int64_t step, int64_t steps);

}  // namespace kappascope::train
