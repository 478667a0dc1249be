// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kappascope::nn {

/// Mean over rows of the cross entropy of softmax(h Wᵀ) with the targets, of which `rows` rows of
/// logits are held at a time: [rows, classes] instead of [n, classes], three times.
///
/// h: [n, width]; weight: [classes, width]; targets: [n] int64 in [0, classes). Returns a scalar of
/// h's type, summed in double. Where gradients are recorded, both are computed in the forward pass,
/// so that no row of logits is computed twice: three products of matrices as without pieces, and a
/// second copy of h and of weight are kept. Has a second derivative, which is exact and holds the
/// logits of all rows. Throws Error on shapes that do not fit.
at::Tensor linear_cross_entropy(const at::Tensor& h,
                                const at::Tensor& weight,
                                const at::Tensor& targets,
                                std::int64_t rows);

}  // namespace kappascope::nn
