// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace kappascope::cuda {

enum class RowType { kFloat, kHalf, kBfloat16 };

/// The first pass of the moments on the device: for rows [n, d] of `type`
///   keep[i] = mask[i] and every entry of row i is finite,
///   centred[i, j] = keep[i] ? float(rows[i, j]) - shift[j] : 0.
/// One read and one write of the rows, no synchronisation with the host. `mask` may be null (all
/// true). All pointers are device memory, rows and centred contiguous. The difference is rounded
/// once, as on the host, so both agree to the last bit. Returns the launch's status.
cudaError_t centre_rows(const void* rows,
                        RowType type,
                        const bool* mask,
                        const float* shift,
                        float* centred,
                        bool* keep,
                        std::int64_t n,
                        std::int64_t d,
                        cudaStream_t stream);

}  // namespace kappascope::cuda
