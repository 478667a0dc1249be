// SPDX-License-Identifier: Apache-2.0
#include "python/evaluate.h"

#include <torch/library.h>

namespace kappascope {

at::Tensor evaluate(std::int64_t source, std::int64_t batch) {
  static const auto python = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("kappascope::evaluate", "")
                                 .typed<at::Tensor(std::int64_t, std::int64_t)>();
  return python.call(source, batch);
}

}  // namespace kappascope
