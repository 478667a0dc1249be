// SPDX-License-Identifier: Apache-2.0
// What a stored spectrum is worth, in words.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/findings/rules.h"
#include "reports/runs/groups.h"
#include "reports/runs/spectra.h"

namespace kappascope::reports {
namespace {

double number(const Arm& arm, const std::string& name) {
  const auto point = arm.newest(name);
  return !point ? std::nan("") : point->scalar.value;
}

std::string text(const Arm& arm, const std::string& name) {
  const auto point = arm.newest(name);
  if (!point) return "";
  const auto found = point->scalar.attributes.find(attribute::kText);
  return found == point->scalar.attributes.end() ? "" : found->second;
}

std::string outcome(const StoredSpectrum& spectrum, double products) {
  const auto count = spectrum.values.size();
  if (spectrum.status == store::Status::kNonFinite)
    return "No eigenvalue: a product was not finite.";
  if (spectrum.status == store::Status::kInconsistent) {
    return "Do not trust these values: products contradict each other, so the loss differs from "
           "call to call or is noisier than its type allows.";
  }
  const double widest =
      count == 0 ? 0 : *std::max_element(spectrum.bounds.begin(), spectrum.bounds.end());
  if (spectrum.status == store::Status::kConverged) {
    const auto certified = std::ranges::count(spectrum.certified, 1);
    return fmt::format(
        "Converged in {} products: each of the {} values lies within its bar of a true eigenvalue "
        "of this batch, the widest bar being ±{}{}.",
        products,
        count,
        words(widest),
        spectrum.certified.empty() ? ""
                                   : fmt::format("; {} of them are certified (95 %) to be those of "
                                                 "their ranks",
                                                 certified));
  }
  return fmt::format(
      "Not converged ({} after {} products): each of the {} values lies within its bar of a true "
      "eigenvalue of this batch (at most ±{}), but others may lie beyond it.",
      spectrum.status.text(),
      products,
      count,
      words(widest));
}

std::string products_in_words(const StoredSpectrum& spectrum, const Arm& arm) {
  const std::string kind = text(arm, spectrum.key(part::kProductKind));
  if (kind.empty()) return "";
  const std::string reason = text(arm, spectrum.key(part::kProductReason));
  return fmt::format(" Products are {} in {} ({}), good to {} of the largest{}.",
                     reason.empty() ? "exact derivatives" : "differences of gradients",
                     text(arm, spectrum.key(part::kProductType)),
                     kind,
                     words(number(arm, spectrum.key(part::kProductNoise))),
                     reason.empty() ? "" : ", because: " + reason);
}

/// What other rows would have given: the batch's own error bars cannot tell.
std::string sampling(const StoredSpectrum& spectrum, const Arm& arm) {
  std::string out;
  const auto leading = arm.newest(spectrum.key(part::kLeading));
  if (leading && !std::isnan(leading->scalar.value)) {
    out += fmt::format(" Over the distribution of the data λ1 = {} ({}).",
                       words(leading->scalar.value),
                       interval(leading->scalar));
  }
  const auto batches = newest_table(arm, spectrum.key(part::kBatches), 10);
  const auto from_above = arm.newest(spectrum.key(part::kBatchesFromLargest));
  if (!batches.empty() && !batches[0].empty() && from_above && from_above->scalar.value > 0) {
    out += fmt::format(
        " Over {} independent batches of {} rows λ1 reads {} in the mean, of which {} is the "
        "bias of so small a batch; without it {} (95 %: {} to {}).",
        words(number(arm, spectrum.key(part::kBatchesCount))),
        grouped(number(arm, spectrum.key(part::kBatchesRows))),
        words(batches[0][0]),
        words(batches[3][0]),
        words(batches[6][0]),
        words(batches[7][0]),
        words(batches[8][0]));
  }
  return out.empty() ? " The bars are of this batch: other rows give other values, which "
                       "`kappascope spectrum --batches 8` measures."
                     : out;
}

std::string against_rate(const StoredSpectrum& spectrum, const Arm& arm) {
  if (!spectrum.bounds_the_step()) return "";
  const double largest = spectrum.values.front();
  const auto now = as_share(largest, spectrum.limit());
  std::string out = fmt::format(" λ1 = {} is {} of {} = {} at this step",
                                now.a,
                                now.relation,
                                spectrum.limit_in_words(),
                                now.b);
  if (const double peak = largest_rate(arm); peak > spectrum.rate) {
    const auto then = as_share(largest, spectrum.limit_at(peak));
    out += fmt::format("; it would be {} of {} at the run's largest learning rate {}",
                       then.relation,
                       then.b,
                       words(peak));
  }
  return out + ".";
}

/// The extreme Ritz value at the end that was not asked for, where it is the larger one.
std::string other_end(const StoredSpectrum& spectrum, const Arm& arm) {
  const auto other = arm.newest(spectrum.key(part::kOtherEnd));
  if (!other || spectrum.values.empty()) return "";
  if (!(std::abs(other->scalar.value) > std::abs(spectrum.values.front()))) return "";
  return fmt::format(
      " The other end of the spectrum, at {} or beyond, has the larger magnitude; measure it with "
      "`kappascope spectrum --which both`.",
      words(other->scalar.value));
}

}  // namespace

std::string certificate(const StoredSpectrum& spectrum, const Arm& arm) {
  return fmt::format(
      "{} after {} training steps (step {}), {} parameters, {} training rows. "
      "{}{}{}{}{}",
      spectrum.title(),
      spectrum.checkpoint,
      spectrum.step,
      grouped(spectrum.parameters),
      grouped(spectrum.rows),
      outcome(spectrum, number(arm, spectrum.key(part::kProducts))),
      other_end(spectrum, arm),
      against_rate(spectrum, arm),
      sampling(spectrum, arm),
      products_in_words(spectrum, arm));
}

void find_spectra(const std::vector<Arm>& arms, Findings& out) {
  for (const StoredSpectrum& spectrum : stored_spectra(arms)) {
    const Arm& arm = *runs_of(arms[spectrum.arm]).front();  // a median has those of its first run
    std::vector<std::string> parts;
    const auto add = [&](std::size_t i) {
      parts.push_back(fmt::format(
          "{} = {} ± {}", spectrum.rank(i), words(spectrum.values[i]), words(spectrum.bounds[i])));
    };
    if (!spectrum.values.empty() && spectrum.has_largest) add(0);
    if (!spectrum.values.empty() && spectrum.has_smallest) add(spectrum.values.size() - 1);
    if (parts.empty()) parts.emplace_back("no eigenvalue");
    const bool sound = spectrum.status == store::Status::kConverged;
    out.push_back({"spectrum",
                   fmt::format("{}: the {} after {} training steps (step {}) has {}.",
                               arm.label,
                               spectrum.title(),
                               spectrum.checkpoint,
                               spectrum.step,
                               listed(parts)),
                   sound ? "Converged; the certificate stands with its figure below."
                         : outcome(spectrum, number(arm, spectrum.key(part::kProducts))),
                   !sound});
  }
}

}  // namespace kappascope::reports
