// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/spectrum/spectrum.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/json_line.h"
#include "core/atomic_file.h"
#include "core/notice.h"
#include "core/require.h"
#include "kappascope/store/run.h"
#include "lab/cli/commands/commands.h"
#include "lab/cli/settings.h"
#include "lab/cli/spectrum/operators.h"
#include "lab/train/checkpoint/checkpoint.h"

namespace kappascope::cli {
namespace {

namespace fs = std::filesystem;

/// "5%" or "0.05".
double share_named(const std::string& text) {
  std::size_t end = 0;
  double value = 0;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const auto unit = text.substr(end);
  if (unit == "%") value /= 100;
  if (end == 0 || (unit != "%" && !unit.empty()) || !(value > 0 && value < 1)) {
    throw UsageError("--interval must be a share above 0 and below 1, as 5% or 0.05, got '" + text +
                     "'");
  }
  return value;
}

/// What can be told before the data are read.
void check(const SpectrumRequest& request) {
  check_operator(request.kind);
  if (request.rows < 1) throw UsageError("--rows must be at least 1");
  if (request.lanczos.top < 1) throw UsageError("--top must be at least 1");
  if (request.lanczos.max_products < 1) throw UsageError("--max-products must be at least 1");
  if (!(request.lanczos.tolerance > 0)) throw UsageError("--tolerance must be positive");
  if (request.batches != 0 && (request.batches < 4 || request.batches % 2 != 0)) {
    throw UsageError(
        fmt::format("--batches must be an even number, 4 at least, got {}", request.batches));
  }
  const bool sampled = request.batches > 0 || request.interval > 0;
  if (sampled && request.kind == "covariance") {
    throw UsageError(
        "--batches and --interval need an operator that is a mean over rows, which the covariance "
        "is not; take fisher");
  }
  if (request.interval > 0 && request.lanczos.which == linalg::SpectrumEnd::kSmallest) {
    throw UsageError("--interval is one of the largest eigenvalue; leave out --which smallest");
  }
}

/// Adds the result to the run; why that could not be, or nothing. It is printed in any case, so a
/// run that may not be written costs nobody the numbers.
std::string store_result(const SpectrumRequest& request, const SpectrumResult& result) {
  try {
    const bool keep = request.pairs_by_default &&
                      holds_pairs(store::RunReader(request.run), request, result.checkpoint);
    auto writer = store::RunWriter::append(request.run);
    writer.write(to_snapshot(request, result, !keep));
    writer.make_durable();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::string why_no_checkpoint(const std::string& run, std::int64_t step) {
  std::vector<std::int64_t> steps;
  for (const auto& file : train::checkpoint_files(run))
    if (const auto kept = train::checkpoint_step(file); kept >= 0) steps.push_back(kept);
  if (steps.empty()) return run + " holds no checkpoint";
  return fmt::format(
      "{} holds no checkpoint of step {}; there are those of {} (train.keep-checkpoints says how "
      "many "
      "of the newest stay)",
      run,
      step,
      fmt::join(steps, ", "));
}

/// What the command line asks for.
struct Asked {
  SpectrumRequest request;
  std::string data, device;
  int64_t step = -1;  ///< below 0: that of the newest checkpoint
  po::variables_map values;

  [[nodiscard]] bool is_set(const char* flag) const { return values[flag].as<bool>(); }
};

/// Nothing: the help has been printed.
std::optional<Asked> read_spectrum_request(const Arguments& arguments) {
  Asked asked;
  auto& request = asked.request;
  auto& lanczos = request.lanczos;
  std::string which, interval;
  Usage usage;
  usage.synopsis =
      "kappascope spectrum RUN [--step N] [--block PATTERN] [--operator NAME] [--top K]";
  usage.text =
      "Measure the eigenvalues of the loss's curvature at a checkpoint of RUN.\n\n"
      "The default is the five largest eigenvalues of the Hessian on the first --rows training "
      "rows\n"
      "(images, or windows of text), with dropout off. Each value comes with an error bound: an\n"
      "eigenvalue lies within it. The smallest eigenvalue that the same iteration has seen is "
      "shown\n"
      "too; to compute that end as well, pass --which both. Each distinct eigenvalue is listed "
      "once;\n"
      "to list repeated ones as often as they occur, pass --find-repeated. A '?' marks a value "
      "that\n"
      "the products do not certify to be the extreme one of its rank: one further out may have "
      "been\n"
      "missed; --certify goes on until none is left.\n\n"
      "--operator preconditioned takes P^(-1/2) H P^(-1/2), with the second moments of Adam or "
      "AdamW\n"
      "from the checkpoint (of SGD, P = 1): its largest eigenvalue must stay below the limit of "
      "that\n"
      "optimiser, which is printed beside it.\n\n"
      "The result is added to RUN for `kappascope report`. It replaces an earlier result of the "
      "same\n"
      "operator, block and step.\n\n"
      "example: kappascope spectrum runs/pgb --block 'blocks.*.down_proj.weight' --top 3 --density "
      "--trace";
  usage.options.add_options()("help,h", "show this text")(
      "run", po::value(&request.run)->required(), "folder of the run")(
      "step",
      po::value(&asked.step),
      "use the checkpoint after this many training steps (default: the newest)")(
      "block",
      po::value(&request.block)->default_value("*"),
      "restrict the curvature to parameters whose name matches this glob")(
      "operator", po::value(&request.kind)->default_value("hessian"), kOperatorNames)(
      "top",
      po::value(&lanczos.top)->default_value(lanczos.top),
      "number of eigenvalues at each requested end")(
      "which",
      po::value(&which)->default_value(linalg::to_string(lanczos.which)),
      "end of the spectrum, by value: largest, smallest or both")(
      "find-repeated",
      po::bool_switch(&lanczos.find_repeated),
      "list repeated eigenvalues as often as they occur (about a dozen products more, and a dozen "
      "for each copy)")("certify",
                        po::bool_switch(&lanczos.certify),
                        "go on until every value is certified (95 %) to be the extreme one of its "
                        "rank; without it those marked '?' only lie near some eigenvalue")(
      "tolerance",
      po::value(&lanczos.tolerance)->default_value(lanczos.tolerance, "0.001"),
      "largest accepted residual, relative to the outermost value at the same end")(
      "max-products",
      po::value(&lanczos.max_products)->default_value(lanczos.max_products),
      "stop after this many matrix-vector products")(
      "rows", po::value(&request.rows)->default_value(request.rows), "training rows in a batch")(
      "data", po::value(&asked.data), "folder of the data, if it has moved since training")(
      "device",
      po::value(&asked.device)->value_name("NAME"),
      "where to measure: cpu, cuda, cuda:N or auto (default: where the run was trained)")(
      "density",
      po::bool_switch(&request.density),
      "estimate the spectral density, with its outliers")(
      "density-out",
      po::value(&request.density_out),
      "write the density, the cumulative density and their bands to this CSV file (implies "
      "--density)")(
      "trace", po::bool_switch(&request.trace), "estimate the trace, with its standard error")(
      "batches",
      po::value(&request.batches),
      "repeat for this many independent batches of --rows rows; report mean, interval, and the "
      "bias of a batch against the whole data distribution")(
      "interval",
      po::value(&interval),
      "estimate the largest eigenvalue over the data distribution, from as many rows as a 95 % "
      "interval of this relative half-width needs (for example 5%)")(
      "no-store", po::bool_switch(), "do not add the result to the run")(
      "json", po::bool_switch(), "print the result as JSON");
  add_force(usage);
  usage.positional = "run";
  usage.positional_count = 1;
  auto& values = asked.values;
  if (!parse(arguments, usage, values)) return std::nullopt;
  lanczos.which = linalg::parse_spectrum_end(which, "--which");
  if (!interval.empty()) request.interval = share_named(interval);
  request.density = request.density || !request.density_out.empty();
  request.pairs_by_default = request.interval > 0;
  for (const auto* about_pairs : {"top", "which", "rows", "tolerance", "max-products"})
    request.pairs_by_default = request.pairs_by_default && values[about_pairs].defaulted();
  if (values.count("step") != 0 && asked.step < 0) throw UsageError("--step must not be negative");
  check(request);
  return asked;
}

/// The model as it was trained, with its data; the weights come from a checkpoint.
train::Task task_of(const store::RunReader& reader, const Asked& asked) {
  auto settings = from_ini(reader.fact("config"));
  if (!asked.data.empty()) settings.train.data = asked.data;
  if (!asked.device.empty()) settings.train.device = asked.device;
  settings.train.init.clear();  // the checkpoint has the weights
  // Fused attention has no second derivative; the written-out one has the same values.
  settings.train.transformer.fused_attention = false;
  return train::make_task(settings.train);
}

SpectrumResult measure(const store::RunReader& reader, const Asked& asked) {
  const auto& request = asked.request;
  const auto task = task_of(reader, asked);
  const auto checkpoint = train::newest_checkpoint(
      request.run,
      asked.step < 0 ? std::nullopt : std::optional(asked.step),
      [](const std::string& why) {
        notice("kappascope: warning: {}; taking an older checkpoint\n", why);
      });
  require(checkpoint.has_value(), "{}", why_no_checkpoint(request.run, asked.step));
  return measure_spectrum(request, task, *checkpoint, learning_rate_at(reader, checkpoint->step));
}

/// `refusal`: why the result is not in the run; empty: it is.
void print(const SpectrumRequest& request,
           const SpectrumResult& result,
           const std::string& refusal,
           bool as_json) {
  if (!as_json) {
    print_text(request, result);
    return;
  }
  auto out = to_json(request, result);
  out["stored"] = refusal.empty();
  if (!refusal.empty()) out["not_stored"] = refusal;
  print_json(out);
}

}  // namespace

int run_spectrum(const Arguments& arguments) {
  const auto asked = read_spectrum_request(arguments);
  if (!asked) return 0;
  const auto& request = asked->request;
  if (!request.density_out.empty()) check_output(request.density_out, kDensityMark, asked->values);
  const bool damaged = warn_of_damage({request.run});
  const store::RunReader reader(request.run);
  const bool keep = !asked->is_set("no-store");
  if (keep && reader.state() == "running") {
    notice(
        "kappascope: {} is being trained; the result goes into it only if that has ended by "
        "then\n",
        request.run);
  }
  const auto result = measure(reader, *asked);
  const auto refusal = keep ? store_result(request, result) : "--no-store";
  if (keep && !refusal.empty()) notice("kappascope: not stored: {}\n", refusal);
  print(request, result, refusal, asked->is_set("json"));
  // Last: a disk that is full takes nothing of what was computed.
  if (!request.density_out.empty())
    write_text_atomically(request.density_out, density_csv(result.density->value));
  return damaged ? 1 : 0;
}

}  // namespace kappascope::cli
