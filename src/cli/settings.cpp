// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "kappascope/core/error.h"

namespace kappascope::cli {
namespace {

template <typename T>
po::typed_value<T>* bind(T& target) {
  return po::value<T>(&target)->default_value(target)->value_name("");
}

po::typed_value<bool>* bind_flag(bool& target) {
  return po::value<bool>(&target)->default_value(target, target ? "true" : "false")->value_name("");
}

// Shortest text that reads back to the same number.
std::string text_of(const boost::any& value) {
  if (const auto* s = boost::any_cast<std::string>(&value)) {
    // The INI format has no way to quote these.
    if (s->find_first_of("#\n") == std::string::npos) return *s;
    throw UsageError("a setting must not contain '#' or a line break: " + *s);
  }
  if (const auto* b = boost::any_cast<bool>(&value)) return *b ? "true" : "false";
  if (const auto* d = boost::any_cast<double>(&value)) return fmt::format("{}", *d);
  if (const auto* i = boost::any_cast<int>(&value)) return std::to_string(*i);
  if (const auto* l = boost::any_cast<int64_t>(&value)) return std::to_string(*l);
  if (const auto* u = boost::any_cast<std::uint64_t>(&value)) return std::to_string(*u);
  throw Error("a setting has a type that cannot be written");
}

void add_transformer(po::options_description_easy_init& add, train::TransformerConfig& t) {
  add("model.preset", bind(t.preset), "a language model by name, e.g. qwen3-134m");
  add("model.layout", bind(t.layout), "of a language model: llama, phi3, qwen3, gemma3");
  add("model.heads", bind(t.heads), "attention heads");
  add("model.kv-heads", bind(t.kv_heads), "of keys and values (0: as many)");
  add("model.window", bind(t.window), "tokens that Gemma's local layers see");
  add("model.norm-bias", bind_flag(t.norm_bias), "a learnable shift in every norm");
  add("model.norm",
      bind(t.norm),
      "rms, layer (empty: the layout's), or batch, through which tokens see later ones in "
      "training");
  add("model.norm-order", bind(t.norm_order), "pre, post, sandwich (empty: the layout's)");
  add("model.attention-bias", bind(t.attention_bias), "those of q, k, v, o that have one: qkvo");
  add("model.rotary", bind_flag(t.rotary), "rotary positions");
  add("model.residual-dropout", bind(t.residual_dropout), "of what each branch adds");
  add("model.fused-attention",
      bind_flag(t.fused_attention),
      "faster; second derivatives are then by finite differences");
  add("model.alpha", bind(t.alpha), "of asger: its gate reaches from -alpha to 1 + alpha");
  add("model.beta", bind(t.beta), "of asger: slope of the gate");
  add("model.learn-alpha", bind_flag(t.learn_alpha), "of asger");
  add("model.spatial", bind_flag(t.spatial), "of asger: the spatial part");
  add("model.balanced", bind_flag(t.balanced), "of asger: as many weights as a gated MLP");
  add("model.branch", bind_flag(t.branch), "of isogmlp: the isotropy branch");
  add("model.branch-width", bind(t.branch_width), "of isogmlp (0: hidden / 8)");
  add("model.branch-norm", bind_flag(t.branch_norm), "of isogmlp: LayerNorm in the branch");
  add("model.orthogonal", bind_flag(t.orthogonal), "of isogmlp: orthogonal start");
  add("model.temperature", bind(t.temperature), "of isogmlp, at the start");
  add("model.patch", bind(t.patch), "of vit-vae: pixels a side");
  add("model.latent", bind(t.latent), "of vit-vae: numbers in a patch's code");
  add("model.latent-noise", bind(t.latent_noise), "of vit-vae: deviation, in training");
  add("model.length-weight", bind(t.length_weight), "of vit-vae: of the codes' length");
}

std::vector<std::string> lines_of(const std::map<std::string, std::string>& values) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : values) lines.push_back(fmt::format("{} = {}", name, value));
  return lines;
}

}  // namespace

po::options_description settings_options(Settings& s) {
  auto& t = s.train;
  auto& p = s.probes;
  po::options_description options(
      "Settings, on the command line or as [section] name = value in the file");
  auto add = options.add_options();
  add("label", bind(t.label), "name of this arm in reports (default: made from the bias)");
  add("condition",
      bind(s.condition),
      "under which this arm is compared with others (set by sweep)");
  add("data.path",
      bind(t.data),
      "IDX, CIFAR binary or image-file folder, or an NPY file of images");
  add("data.image-size", bind(t.image_size), "side to which an image folder's files are scaled");
  add("data.context", bind(t.context), "tokens that a window of text predicts");
  add("data.vocabulary", bind(t.vocabulary), "of a folder with train.bin and val.bin");
  add("model.kind", bind(t.kind), "mlp (tells images apart), language, vit-vae");
  add("model.ffn",
      bind(t.ffn),
      "swiglu, geglu, geglu-tanh, reglu, bilinear; in language models also asger, isogmlp (empty: "
      "swiglu, or the layout's)");
  add("model.width", bind(t.width), "d_model");
  add("model.hidden", bind(t.hidden), "d_ff");
  add("model.blocks", bind(t.blocks), "gated layers");
  add("model.residual", bind_flag(t.residual), "x + f(x) instead of f(x)");
  add("model.bias", bind(t.bias), "none, post-gating, output, both");
  add("model.dropout", bind(t.dropout), "probability of zeroing, in [0, 1)");
  add("model.dropout-placement",
      bind(t.dropout_placement),
      "up (on U, as in the paper) or product (empty: up, or the layout's)");
  add_transformer(add, t.transformer);
  add("train.loss", bind(t.loss), "cross-entropy or squared");
  add("train.optimizer", bind(t.optimizer), "adam, adamw or sgd");
  add("train.learning-rate", bind(t.learning_rate), "at the top of the schedule");
  add("train.final-learning-rate",
      bind(t.final_learning_rate),
      "share of it left at the end of the cosine");
  add("train.schedule", bind(t.schedule), "cosine or constant");
  add("train.warmup", bind(t.warmup), "steps of linear warm-up");
  add("train.momentum", bind(t.momentum), "of sgd");
  add("train.beta1", bind(t.beta1), "of adam and adamw: decay of the mean");
  add("train.beta2", bind(t.beta2), "of adam and adamw: decay of the mean square");
  add("train.weight-decay", bind(t.weight_decay), "of the optimiser (decoupled in adamw)");
  add("train.epochs", bind(t.epochs), "passes over the data");
  add("train.steps", bind(t.steps), "steps; overrides epochs when positive");
  add("train.batch", bind(t.batch), "rows (images, windows of text) a step");
  add("train.seed", bind(t.seed), "of weights, shuffles and dropout");
  add("train.eval-rows", bind(t.eval_rows), "test rows of a test loss (0: all)");
  add("train.eval-every", bind(t.eval_every), "steps between test losses (0: twenty in the run)");
  add("train.checkpoint-every",
      bind(t.checkpoint_every),
      "steps between checkpoints (0: ten in the run)");
  add("train.threads", bind(t.threads), "CPU threads (0: as LibTorch chooses)");
  add("attack.rows", bind(t.attack_rows), "test images attacked at each evaluation (0: none)");
  add("attack.fgsm-radius", bind(t.fgsm_radius), "of the one-step attack (fast gradient sign)");
  add("attack.pgd-radius", bind(t.pgd_radius), "of projected gradient descent");
  add("attack.pgd-steps", bind(t.pgd_steps), "of it");
  add("attack.pgd-step-size", bind(t.pgd_step_size), "of it");
  add("probes.features", bind_flag(p.features), "moments and condition numbers");
  add("probes.intercept", bind_flag(p.intercept), "what the post-gating bias has absorbed");
  add("probes.gradient-variance", bind_flag(p.gradient_variance), "Lemma 2 against the gradients");
  add("probes.hessian", bind_flag(p.hessian), "top eigenvalues and density of the Hessian");
  add("probes.every", bind(p.every), "steps between measurements");
  add("probes.window", bind(p.window), "steps observed for each");
  add("probes.budget", bind(p.budget), "share of training time a probe may use (0: no limit)");
  add("probes.hessian-every",
      bind(p.hessian_every),
      "steps between spectra (0: ten times probes.every)");
  add("probes.hessian-budget",
      bind(p.hessian_budget),
      "share of training time for spectra (0: no limit)");
  add("probes.hessian-top", bind(p.spectrum.top), "eigenvalues at each end");
  add("probes.hessian-tolerance",
      bind(p.spectrum.tolerance),
      "residual relative to the largest magnitude");
  add("probes.hessian-rows", bind(s.curvature_rows), "training rows the Hessian is taken on");
  add("probes.hessian-block",
      bind(p.parameters),
      "glob of the parameters, e.g. blocks.*.down_proj.weight");
  add("probes.density", bind_flag(p.spectrum.density), "spectral density with each spectrum");
  add("probes.sample-rows", bind(p.sample_rows), "feature rows kept a layer, for the tails");
  return options;
}

std::string to_ini(Settings settings) {
  // Options bound to these settings have them as their defaults.
  const auto options = settings_options(settings);
  po::variables_map values;
  po::store(po::command_line_parser(std::vector<std::string>()).options(options).run(), values);
  std::map<std::string, std::string> sections;
  for (const auto& option : options.options()) {
    const auto& name = option->long_name();
    const auto dot = name.find('.');
    const auto section = dot == std::string::npos ? "" : name.substr(0, dot);
    sections[section] += name.substr(dot + 1) + " = " + text_of(values[name].value()) + "\n";
  }
  std::string text;
  for (const auto& [section, lines] : sections)
    text += (section.empty() ? "" : "[" + section + "]\n") + lines;
  return text;
}

Settings from_ini(const std::string& text) {
  Settings settings;
  const auto options = settings_options(settings);
  po::variables_map values;
  std::istringstream in(text);
  try {
    po::store(po::parse_config_file(in, options), values);
    po::notify(values);
  } catch (const po::error& error) {
    throw Error(std::string("the stored configuration cannot be read: ") + error.what());
  }
  return settings;
}

Settings settings_with(const std::vector<std::pair<std::string, std::string>>& changes,
                       const std::string& where) {
  Settings settings;
  const auto options = settings_options(settings);
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back(option->long_name());
  // Of several values of one setting, program_options counts the first.
  std::map<std::string, std::string> last;
  for (const auto& [name, value] : changes) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const auto near = closest(name, names);
      throw UsageError(fmt::format("{}: unknown setting '{}'{}",
                                   where,
                                   name,
                                   near.empty() ? "" : fmt::format(": did you mean '{}'?", near)));
    }
    last[name] = value;
  }
  // As a file, which also takes an empty value.
  std::istringstream text(fmt::format("{}", fmt::join(lines_of(last), "\n")));
  po::variables_map values;
  try {
    po::store(po::parse_config_file(text, options), values);
    po::notify(values);
  } catch (const po::error& error) {
    throw UsageError(where + ": " + error.what());
  }
  return settings;
}

std::string label_of(const train::TrainConfig& config) {
  if (!config.label.empty()) return config.label;
  if (config.bias == "none") return "no bias";
  if (config.bias == "both") return "both biases";
  return config.bias + " bias";
}

}  // namespace kappascope::cli
