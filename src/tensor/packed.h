// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kappascope::tensor {

/// A vector of n numbers in 16 bits each: integers of -32767 to 32767, and a factor in float32 for
/// each block of 64. A contiguous tensor of int16: the integers, padded with zeros to whole blocks,
/// then the factors, two int16 each. A block's largest magnitude is 32767 times its factor, so
/// small blocks are as exact as large ones, which one factor for the whole vector would lose.
///
/// ‖packed − x‖ <= kPackedError ‖x‖: an element is off by half its block's factor, 64 of them by 4
/// factors, and the block has a length of 32767 factors at least; the factor itself is rounded to
/// float32. For normal entries it is a sixth of that. A block whose largest magnitude is
/// under 4·10⁻³⁴ becomes 0.
constexpr std::int64_t kPackedBlock = 64;
constexpr double kPackedError = 4.0 / 32767 * (1 + 0x1p-10);

/// Elements of int16 that hold n numbers.
constexpr std::int64_t packed_length(std::int64_t n) {
  const std::int64_t blocks = (n + kPackedBlock - 1) / kPackedBlock;
  return blocks * (kPackedBlock + 2);
}

/// [n] in float32, on the host.
at::Tensor unpacked(const at::Tensor& column, std::int64_t n);

}  // namespace kappascope::tensor
