// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/settings_options.h"

#include <algorithm>
#include <string>
#include <type_traits>

namespace kappascope::cli {
namespace {

template <typename T>
po::typed_value<T>* bind(T& target, const char* name) {
  return po::value<T>(&target)->default_value(target)->value_name(name);
}

template <typename T>
po::typed_value<T>* number(T& target) {
  return bind(target, std::is_floating_point_v<T> ? "X" : "N");
}

po::typed_value<std::string>* name(std::string& target) {
  return bind(target, "NAME");
}

po::typed_value<bool>* flag(bool& target) {
  return po::value<bool>(&target)
      ->default_value(target, target ? "true" : "false")
      ->value_name("BOOL");
}

OptionGroup group(const char* name, const char* about) {
  return {name, about, po::options_description()};
}

OptionGroup run_group(Settings& s) {
  auto made = group("run", "how reports name this run");
  made.options.add_options()("label",
                             name(s.train.label),
                             "name of this arm in reports; made from model.bias if not given")(
      "condition", name(s.condition), "experimental condition of this run (set by `sweep`)");
  return made;
}

OptionGroup data_group(train::TrainConfig& t) {
  auto made = group("data", "what is trained on");
  made.options.add_options()(
      "data.path",
      bind(t.data, "PATH"),
      "images: a folder of IDX files, CIFAR binaries or image files, or an NPY file; language: a "
      "text file, or a folder with train.bin and val.bin, or train-*.bin and val-*.bin")(
      "data.image-size",
      number(t.image_size),
      "side in pixels to which the files of an image folder are scaled")(
      "data.normalise",
      flag(t.normalise),
      "mlp: inputs less their mean over their deviation, by channel (attacks stay in pixels)")(
      "data.rows",
      number(t.rows),
      "mlp: train on the first so many images alone, as a full batch needs (0: all)")(
      "data.context", number(t.context), "language: tokens predicted in a window")(
      "data.vocabulary", number(t.vocabulary), "language: vocabulary size of train.bin")(
      "data.token-bits", number(t.token_bits), "language: bits of a token of train.bin, 16 or 32");
  return made;
}

OptionGroup model_group(train::TrainConfig& t) {
  auto made = group("model", "architecture, biases and dropout");
  made.options.add_options()(
      "model.kind",
      name(t.kind),
      "mlp (classifies images), language, or vit-vae; a text as data selects language")(
      "model.width", number(t.width), "d_model, width of the residual stream")(
      "model.hidden", number(t.hidden), "d_ff, width of the gated features")(
      "model.blocks", number(t.blocks), "number of gated layers")(
      "model.bias",
      name(t.bias),
      "none, post-gating, output, both, centred (minus a running mean of the features), or "
      "centred-output (with an output bias)")(
      "model.bias-start",
      name(t.bias_start),
      "where a post-gating bias begins: zero, or mean (minus the first batch's features' mean)")(
      "model.dropout", number(t.dropout), "dropout probability, in [0, 1)")(
      "model.dropout-placement",
      name(t.dropout_placement),
      "up (on U, as in the paper) or product; if not given, up or the layout's")(
      "model.ffn",
      name(t.ffn),
      "swiglu, geglu, geglu-tanh, reglu or bilinear; in language models also asger or isogmlp; if "
      "not given, swiglu or the layout's")(
      "model.residual", flag(t.residual), "mlp: x + f(x) instead of f(x)")(
      "model.embedding",
      flag(t.embedding),
      "mlp: an affine map to d_model first; false: the first gated layer takes the image")(
      "model.init",
      bind(t.init, "FILE"),
      "start from the weights in this safetensors file (or folder of them), by name");
  return made;
}

OptionGroup language_group(train::TransformerConfig& t) {
  auto made = group("language", "language models: layout, attention, norms");
  made.options.add_options()(
      "model.preset", name(t.preset), "a whole model by name, e.g. qwen3-134m")(
      "model.preset-blocks",
      number(t.preset_blocks),
      "keep so many of the preset's blocks, the first (0: all)")(
      "model.initial-deviation",
      number(t.initial_deviation),
      "standard deviation of the initial weights (also of vit-vae); 0.02 is usual at a width of "
      "768, and 0.02 sqrt(768 / width) gives layers of another width outputs of that size")(
      "model.layout", name(t.layout), "llama, phi3, qwen3 or gemma3")(
      "model.heads", number(t.heads), "attention heads (also of vit-vae)")(
      "model.kv-heads", number(t.kv_heads), "key and value heads (0: as many as heads)")(
      "model.window", number(t.window), "gemma3: tokens seen by a local attention layer")(
      "model.global-every", number(t.global_every), "gemma3: every n-th layer is not local")(
      "model.attention-bias",
      bind(t.attention_bias, "LETTERS"),
      "projections that have a bias, of q, k, v, o: e.g. qkv")(
      "model.rotary", flag(t.rotary), "rotary position embeddings")(
      "model.fused-attention",
      flag(t.fused_attention),
      "fused attention kernel: faster (written out for the Hessian where its tables fit into 4 "
      "GiB)")(
      "model.norm",
      name(t.norm),
      "rms, layer or batch; if not given, the layout's (batch mixes tokens: in training, earlier "
      "tokens then see later ones)")(
      "model.norm-order", name(t.norm_order), "pre, post or sandwich; if not given, the layout's")(
      "model.norm-bias", flag(t.norm_bias), "trainable shift in every norm")(
      "model.residual-dropout",
      number(t.residual_dropout),
      "dropout probability of each branch's output");
  return made;
}

OptionGroup asger_group(train::TransformerConfig& t) {
  auto made = group("asger", "the ASGER layer (model.ffn = asger)");
  made.options.add_options()(
      "model.alpha", number(t.alpha), "ASGER: the gate's range is -alpha to 1 + alpha")(
      "model.beta", number(t.beta), "ASGER: slope of the gate")(
      "model.learn-alpha", flag(t.learn_alpha), "ASGER: make alpha trainable")(
      "model.learn-beta", flag(t.learn_beta), "ASGER: make beta trainable")(
      "model.spatial", flag(t.spatial), "ASGER: add the spatial branch")(
      "model.balanced",
      flag(t.balanced),
      "ASGER: narrow d_ff to the parameter count of a gated MLP");
  return made;
}

OptionGroup isogmlp_group(train::TransformerConfig& t) {
  auto made = group("isogmlp", "the IsoGMLP layer (model.ffn = isogmlp)");
  made.options.add_options()("model.branch", flag(t.branch), "IsoGMLP: add the isotropy branch")(
      "model.branch-width", number(t.branch_width), "IsoGMLP: width of the branch (0: d_ff / 8)")(
      "model.branch-norm", flag(t.branch_norm), "IsoGMLP: LayerNorm in the branch")(
      "model.orthogonal", flag(t.orthogonal), "IsoGMLP: orthogonal initialisation")(
      "model.scaled-start",
      flag(t.scaled_start),
      "IsoGMLP: not orthogonal, but normal weights of that variance")(
      "model.temperature", number(t.temperature), "IsoGMLP: initial temperature");
  return made;
}

OptionGroup vae_group(train::TransformerConfig& t) {
  auto made = group("vit-vae", "the autoencoder of images (model.kind = vit-vae)");
  made.options.add_options()("model.patch",
                             number(t.patch),
                             "side of a patch in pixels (0: the largest up to 16 that cuts an "
                             "image into at least 4 x 4 patches)")(
      "model.latent", number(t.latent), "dimension of the latent code of a patch")(
      "model.latent-noise",
      number(t.latent_noise),
      "standard deviation of the noise added to the codes in training")(
      "model.length-weight", number(t.length_weight), "weight of the code-length penalty");
  return made;
}

OptionGroup train_group(train::TrainConfig& t) {
  auto made = group("train", "loss, length, batch, seed, evaluation, checkpoints");
  made.options.add_options()("train.epochs", number(t.epochs), "passes over the training data")(
      "train.steps", number(t.steps), "steps; if positive, replaces train.epochs")(
      "train.batch",
      number(t.batch),
      "rows per step (images, or windows of text; 32 where a text alone is given)")(
      "train.micro-batch",
      number(t.micro_batch),
      "rows per forward and backward pass; the gradients of a step's passes add up to the batch's "
      "(0: one pass of the whole batch)")(
      "train.logit-rows",
      number(t.logit_rows),
      "language: tokens whose logits are held at once (0: all of a pass)")(
      "train.recompute",
      flag(t.recompute),
      "transformers: keep each block's input alone and run the block again in the backward pass")(
      "train.seed", number(t.seed), "seed of weights, shuffling and dropout")(
      "train.loss", name(t.loss), "mlp: cross-entropy or squared")(
      "train.eval-rows", number(t.eval_rows), "test rows per evaluation (0: all)")(
      "train.eval-every",
      number(t.eval_every),
      "steps between evaluations (0: twenty evaluations in the run)")(
      "train.checkpoint-every",
      number(t.checkpoint_every),
      "steps between checkpoints (0: a tenth of the run)")(
      "train.keep-checkpoints",
      number(t.keep_checkpoints),
      "so many of the newest checkpoints stay (0: all)")(
      "train.precision",
      name(t.precision),
      "float32, bf16 or fp16: type of matrix products in training; weights stay float32")(
      "train.device",
      name(t.device),
      "cpu, cuda, cuda:N, or auto (the first CUDA device where there is one)")(
      "train.threads", number(t.threads), "CPU threads (0: LibTorch's default)");
  return made;
}

OptionGroup optimizer_group(train::TrainConfig& t) {
  auto made = group("optimizer", "optimiser and learning-rate schedule");
  made.options.add_options()("train.optimizer", name(t.optimizer), "adam, adamw or sgd")(
      "train.learning-rate", number(t.learning_rate), "peak learning rate")(
      "train.schedule", name(t.schedule), "cosine or constant")(
      "train.final-learning-rate",
      number(t.final_learning_rate),
      "final learning rate of the cosine, as a fraction of the peak")(
      "train.warmup", number(t.warmup), "steps of linear warm-up")(
      "train.weight-decay", number(t.weight_decay), "weight decay (decoupled in adamw)")(
      "train.decay-of",
      name(t.decay_of),
      "what decays: all parameters, or matrices (of linear layers; not norms, biases, embeddings)")(
      "train.momentum", number(t.momentum), "sgd: momentum")(
      "train.beta1", number(t.beta1), "adam, adamw: decay rate of the first moment")(
      "train.beta2", number(t.beta2), "adam, adamw: decay rate of the second moment");
  return made;
}

OptionGroup attack_group(train::TrainConfig& t) {
  auto made = group("attack", "adversarial accuracy at each evaluation");
  made.options.add_options()(
      "attack.rows", number(t.attack_rows), "test images attacked at each evaluation (0: none)")(
      "attack.ball",
      name(t.ball),
      "document's attack: it stays within 0.2 of the inputs, of the noisy start, or of none")(
      "attack.start", number(t.attack_start), "document's attack: half width of its noise")(
      "attack.clip", flag(t.clip), "document's attack: pixels stay in [0, 1]")(
      "attack.units",
      name(t.units),
      "document's attack: sizes in pixels, or in inputs (what data.normalise makes of them)")(
      "attack.fgsm-radius", number(t.fgsm_radius), "FGSM: radius, in units of pixel value")(
      "attack.pgd-radius", number(t.pgd_radius), "PGD: radius, in units of pixel value")(
      "attack.pgd-steps", number(t.pgd_steps), "PGD: number of steps")(
      "attack.pgd-step-size", number(t.pgd_step_size), "PGD: size of a step");
  return made;
}

OptionGroup probes_group(Settings& s) {
  auto& p = s.probes;
  auto made = group("probes", "what is measured, how often, and at what cost");
  for (const auto& probe : store::layer_probes()) {
    const bool on = p.layer_probes[probe.name];
    auto* value = po::value<bool>()
                      ->default_value(on, on ? "true" : "false")
                      ->value_name("BOOL")
                      ->notifier([&p, &probe](bool set) { p.layer_probes.set(probe.name, set); });
    made.options.add_options()(
        setting_of(probe).c_str(), value, ("measure " + std::string(probe.help)).c_str());
  }
  made.options.add_options()(
      "probes.hessian", flag(p.hessian), "compute top eigenvalues and density of the Hessian")(
      "probes.critical-step",
      flag(p.critical_step),
      "find how much longer a step could have been before the loss rises")(
      "probes.every", number(p.every), "steps between measurements")(
      "probes.window", number(p.window), "steps observed per measurement")(
      "probes.budget",
      number(p.budget),
      "time limit of all probes together, as a fraction of training time, and at most twice that "
      "over any 200 steps, half of it for spectra (0: none); layers take turns where one window "
      "cannot measure all")(
      "probes.rows",
      number(s.kept_rows),
      "rows of a step that are kept of each layer: later micro-batches are counted alone, so that "
      "what is measured has more error and takes less memory (0: all)")(
      "probes.sample-rows", number(p.sample_rows), "feature rows kept per layer, for tail weight")(
      "probes.hessian-every",
      number(p.hessian_every),
      "steps between spectra (0: ten times probes.every)")(
      "probes.hessian-top", number(p.spectrum.top), "eigenvalues computed at each end")(
      "probes.hessian-tolerance",
      number(p.spectrum.tolerance),
      "largest residual, relative to the largest eigenvalue's magnitude")(
      "probes.hessian-rows",
      number(s.curvature_rows),
      "training rows in the loss whose Hessian is taken (0: 1024 images, or windows of text that "
      "predict 1024 tokens together)")(
      "probes.hessian-block",
      bind(p.parameters, "GLOB"),
      "parameters whose Hessian is taken, e.g. blocks.*.down_proj.weight")(
      "probes.density", flag(p.spectrum.density), "estimate the spectral density too");
  return made;
}

}  // namespace

std::vector<OptionGroup> settings_groups(Settings& s) {
  auto& t = s.train;
  std::vector<OptionGroup> groups;
  groups.push_back(data_group(t));
  groups.push_back(model_group(t));
  groups.push_back(train_group(t));
  groups.push_back(optimizer_group(t));
  groups.push_back(probes_group(s));
  groups.push_back(attack_group(t));
  groups.push_back(language_group(t.transformer));
  groups.push_back(asger_group(t.transformer));
  groups.push_back(isogmlp_group(t.transformer));
  groups.push_back(vae_group(t.transformer));
  groups.push_back(run_group(s));
  return groups;
}

std::string setting_of(const store::LayerProbe& probe) {
  std::string name = "probes." + std::string(probe.name);
  std::ranges::replace(name, '_', '-');
  return name;
}

std::vector<std::string> common_settings() {
  return {"model.kind",
          "model.width",
          "model.hidden",
          "model.blocks",
          "model.bias",
          "model.dropout",
          "train.epochs",
          "train.batch",
          "train.seed",
          "train.optimizer",
          "train.learning-rate",
          "probes.every",
          "probes.hessian",
          "label"};
}

}  // namespace kappascope::cli
