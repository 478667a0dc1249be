// SPDX-License-Identifier: Apache-2.0
// The names of every series that Kappascope writes, each spelt once; those of the layer probes are
// in schema/layer_probes.h. What they mean, their units, statuses and readers stand beside them in
// schema/schema.h and, for people, in the table of src/store/README.md, which is printed from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kappascope::store {

/// The name of one series: "kappa/sigma". Converts to the text where the store takes one.
class SeriesId {
 public:
  constexpr explicit SeriesId(std::string_view name) : name_(name) {}
  [[nodiscard]] constexpr std::string_view name() const { return name_; }
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator std::string() const { return std::string(name_); }
  friend constexpr bool operator==(SeriesId a, SeriesId b) { return a.name_ == b.name_; }
  friend constexpr bool operator==(SeriesId a, std::string_view b) { return a.name_ == b; }

 private:
  std::string_view name_;
};

/// Series whose names begin alike and end in a number or a name: "hessian/lambda_1", "cost/total".
class SeriesFamily {
 public:
  constexpr explicit SeriesFamily(std::string_view prefix) : prefix_(prefix) {}
  [[nodiscard]] constexpr std::string_view prefix() const { return prefix_; }
  /// The k-th of them, counted from 1.
  [[nodiscard]] std::string at(std::int64_t k) const;
  [[nodiscard]] std::string of(std::string_view member) const;
  /// Whether the name begins as theirs do.
  [[nodiscard]] constexpr bool contains(std::string_view name) const {
    return name.substr(0, prefix_.size()) == prefix_;
  }
  /// The prefix, for a search.
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator std::string() const { return std::string(prefix_); }

 private:
  std::string_view prefix_;
};

/// The last part of the name of a spectrum at a checkpoint: "lambda_1".
class SpectrumPart {
 public:
  constexpr explicit SpectrumPart(std::string_view name) : name_(name) {}
  [[nodiscard]] constexpr std::string_view name() const { return name_; }

 private:
  std::string_view name_;
};

/// "spectrum/hessian/*/lambda_1", taken apart. BLOCK is a glob of parameter names.
struct SpectrumName {
  std::string operator_kind{}, block{}, part{};
};

/// The name of one part of the spectrum of one operator on one block of parameters.
std::string spectrum_series(const std::string& operator_kind,
                            const std::string& block,
                            SpectrumPart part);
/// Nothing when `name` is not such a name. Operator and part are not looked up.
std::optional<SpectrumName> parse_spectrum(std::string_view name);

/// A study's metric: the median over the steps of a run, "loss/test@median".
std::string median_over_steps(const std::string& series);

namespace id {

inline constexpr SeriesId kLossTrain{"loss/train"};
inline constexpr SeriesId kLossTest{"loss/test"};
inline constexpr SeriesId kAccuracyTest{"accuracy/test"};
inline constexpr SeriesId kAccuracyDocumentAttack{"accuracy/document_attack"};
inline constexpr SeriesId kAccuracyFgsm{"accuracy/fgsm"};
inline constexpr SeriesId kAccuracyPgd{"accuracy/pgd"};
inline constexpr SeriesFamily kAccuracies{"accuracy/"};
inline constexpr SeriesId kLearningRate{"learning_rate"};
inline constexpr SeriesId kGradientNorm{"gradient_norm"};
inline constexpr SeriesId kStepRows{"step/rows"};
inline constexpr SeriesId kLayerRows{"layer/rows"};
inline constexpr SeriesId kMemoryTraining{"memory/training"};
inline constexpr SeriesId kMemoryProcess{"memory/process"};
inline constexpr SeriesId kMemoryDevice{"memory/device"};
inline constexpr SeriesFamily kMemory{"memory/"};
inline constexpr SeriesId kStepSeconds{"cost/step_seconds"};
inline constexpr SeriesId kCostTotal{"cost/total"};
inline constexpr SeriesFamily kCost{"cost/"};

inline constexpr SeriesId kCriticalStep{"step/critical"};
inline constexpr SeriesFamily kHessianLambda{"hessian/lambda_"};
inline constexpr SeriesFamily kHessianLambdaMin{"hessian/lambda_min_"};
inline constexpr SeriesId kPreconditionedLambda{"hessian/preconditioned"};
inline constexpr SeriesId kAlongGradient{"hessian/along_gradient"};
inline constexpr SeriesId kPreconditionedAlongGradient{"hessian/preconditioned_along_gradient"};
inline constexpr SeriesId kStabilityLimit{"hessian/stability_limit"};
inline constexpr SeriesId kHessianProducts{"hessian/products"};
inline constexpr SeriesId kHessianTrace{"hessian/trace"};
inline constexpr SeriesId kHessianNegativeMass{"hessian/negative_mass"};
inline constexpr SeriesId kHessianNearZeroMass{"hessian/near_zero_mass"};
inline constexpr SeriesId kHessianDensity{"hessian/density"};  // an array

inline constexpr SeriesFamily kSpectrum{"spectrum/"};
inline constexpr SeriesFamily kUser{"user/"};

}  // namespace id

/// Parts of a spectrum at a checkpoint.
namespace part {

inline constexpr SpectrumPart kLambda{"lambda_1"};
inline constexpr SpectrumPart kLambdaMin{"lambda_min_1"};
inline constexpr SpectrumPart kOtherEnd{"other_end"};
inline constexpr SpectrumPart kMultiplicity{"multiplicity"};
inline constexpr SpectrumPart kEigenvalues{"eigenvalues"};  // an array
inline constexpr SpectrumPart kReach{"reach"};              // an array
inline constexpr SpectrumPart kShare{"share"};              // an array
inline constexpr SpectrumPart kStatus{"status"};
inline constexpr SpectrumPart kCheckpoint{"checkpoint"};
inline constexpr SpectrumPart kRows{"rows"};
inline constexpr SpectrumPart kParameters{"parameters"};
inline constexpr SpectrumPart kTop{"top"};
inline constexpr SpectrumPart kTolerance{"tolerance"};
inline constexpr SpectrumPart kProducts{"products"};
inline constexpr SpectrumPart kSeconds{"seconds"};
inline constexpr SpectrumPart kLearningRate{"learning_rate"};
inline constexpr SpectrumPart kStabilityLimit{"stability_limit"};
inline constexpr SpectrumPart kProductNoise{"product_noise"};
inline constexpr SpectrumPart kProductType{"product_type"};
inline constexpr SpectrumPart kProductKind{"product_kind"};
inline constexpr SpectrumPart kProductReason{"product_reason"};

inline constexpr SpectrumPart kDensity{"density"};    // an array
inline constexpr SpectrumPart kOutliers{"outliers"};  // an array
inline constexpr SpectrumPart kDensityStatus{"density_status"};
inline constexpr SpectrumPart kNegativeMass{"negative_mass"};
inline constexpr SpectrumPart kNearZeroMass{"near_zero_mass"};
inline constexpr SpectrumPart kBulkLow{"bulk_low"};
inline constexpr SpectrumPart kBulkHigh{"bulk_high"};
inline constexpr SpectrumPart kOutlierCount{"outlier_count"};
inline constexpr SpectrumPart kOutlierCountStderr{"outlier_count_stderr"};
inline constexpr SpectrumPart kDensityRows{"density_rows"};
inline constexpr SpectrumPart kDensityProducts{"density_products"};
inline constexpr SpectrumPart kDensitySeconds{"density_seconds"};

inline constexpr SpectrumPart kTrace{"trace"};
inline constexpr SpectrumPart kTraceStderr{"trace_stderr"};
inline constexpr SpectrumPart kTraceRows{"trace_rows"};
inline constexpr SpectrumPart kTraceProducts{"trace_products"};
inline constexpr SpectrumPart kTraceSeconds{"trace_seconds"};

inline constexpr SpectrumPart kBatches{"batches"};  // an array
inline constexpr SpectrumPart kBatchesStatus{"batches_status"};
inline constexpr SpectrumPart kBatchesFromLargest{"batches_from_largest"};
inline constexpr SpectrumPart kBatchesCount{"batches_count"};
inline constexpr SpectrumPart kBatchesRows{"batches_rows"};
inline constexpr SpectrumPart kBatchesProducts{"batches_products"};
inline constexpr SpectrumPart kBatchesPasses{"batches_passes"};
inline constexpr SpectrumPart kBatchesSeconds{"batches_seconds"};

inline constexpr SpectrumPart kLeading{"leading"};
inline constexpr SpectrumPart kLeadingAsked{"leading_asked"};
inline constexpr SpectrumPart kLeadingBatchRows{"leading_batch_rows"};
inline constexpr SpectrumPart kLeadingFreshRows{"leading_fresh_rows"};
inline constexpr SpectrumPart kLeadingProducts{"leading_products"};
inline constexpr SpectrumPart kLeadingPasses{"leading_passes"};
inline constexpr SpectrumPart kLeadingSeconds{"leading_seconds"};

}  // namespace part

/// Keys of attributes.
namespace attribute {

inline constexpr const char* kRoute = "route";    ///< how a number was computed
inline constexpr const char* kText = "text";      ///< a text in place of a number
inline constexpr const char* kBudget = "budget";  ///< share of the training time allowed; 0: any
inline constexpr const char* kStatus = "status";  ///< a status that this program does not know

}  // namespace attribute

}  // namespace kappascope::store
