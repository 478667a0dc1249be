// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "theory/checks/bias_redundancy/norms.h"
#include "theory/claim.h"

/// A bias b right before a normalisation: z + b is what gets normalised. Gain and shift come after
/// and are the same with and without b, so the normalised values alone are compared, exactly.
namespace kappascope::theory {

/// One feature in front of batch normalisation; features do not see each other.
struct BatchCase {
  std::vector<Vector<Rational>> batches;  ///< z of the batches of the training, at least one
  std::vector<Rational> momenta;  ///< share of the new batch in the running statistics, per batch
  Rational bias, epsilon;

  [[nodiscard]] std::string text() const;
};
/// Which statistics normalise, and what the network without b has for them. Running means start
/// at 0 and running variances at 1.
enum class BatchMode {
  kTraining,        ///< those of the batch
  kMeanKept,        ///< running ones, recorded with b
  kMeanMoved,       ///< running ones, recorded with b, the mean lowered by b
  kTrainedWithout,  ///< running ones, each network's own
};
/// Whether the last batch comes out the same without b; nothing where the statement is silent.
using BatchStatement = std::function<std::optional<bool>(const BatchCase&, BatchMode)>;
/// In training and with the mean lowered: always. With the mean kept: b = 0. With its own mean:
/// b = 0 or Π(1 - momentum) = 0, because the running mean lacks Π(1 - momentum) of b.
std::optional<bool> batch_norm_forgets(const BatchCase& one, BatchMode mode);
Verdict check_before_batch_norm(const BatchStatement& same_outputs, std::uint64_t seed);

/// A bias in front of LayerNorm or RMSNorm.
struct TokenCase {
  Norm norm;
  Vector<Rational> bias;  ///< [d]
  Rational epsilon;
  std::vector<Vector<Rational>> inputs;  ///< z; -b/2 is among them

  [[nodiscard]] std::string text() const;
};
using TokenStatement = std::function<std::optional<bool>(const TokenCase&)>;
/// LayerNorm: b is a multiple of 1; RMSNorm: b = 0.
std::optional<bool> norm_forgets(const TokenCase& one);
/// Whether all inputs come out the same without b. -b/2 tells: it is normalised to opposite
/// vectors.
Verdict check_before_norm(const TokenStatement& same_outputs, std::uint64_t seed);
/// Whether γ'·norm(zA) + β' is γ·norm(z + b) + β for some A, γ', β'. Then the left side's
/// odd part shows norm(2b) + norm(0) = 2 norm(b), which for ε > 0 says that norm(b) = 0.
Verdict check_no_other_parameters(const TokenStatement& replaceable, std::uint64_t seed);

}  // namespace kappascope::theory
