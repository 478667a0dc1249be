// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kappascope/linalg/features/kappa.h"

namespace kappascope::linalg {

/// (tr Σ)²/(d tr Σ²) as Conditioning::isotropy, of moments alone. Cost: kept rows · d², or d³ where
/// none were kept. Tails as heavy as those of t with 5 degrees of freedom, in features that are
/// independent, take more than a hundred rows to show: before, the interval misses one in nine.
SpectralEstimate isotropy(const Moments& moments, double confidence = 0.95);

}  // namespace kappascope::linalg
