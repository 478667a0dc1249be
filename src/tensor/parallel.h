// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace kappascope::tensor {

/// Runs task(0) … task(count - 1) on LibTorch's own threads, neighbours in one thread; each task
/// sees one thread, also inside matrix products. Returns when all are done; the first exception is
/// thrown on.
///
/// at::parallel_for is a template that is compiled with the caller's OpenMP flags and runtime: in a
/// program built without them it runs on one thread, with another runtime it runs beside LibTorch's
/// threads. This goes through a function inside the library.
void parallel_tasks(std::int64_t count, const std::function<void(std::int64_t)>& task);

}  // namespace kappascope::tensor
