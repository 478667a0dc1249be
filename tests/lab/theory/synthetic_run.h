// SPDX-License-Identifier: Apache-2.0
// A stored run that says just what a test wants it to say.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kappascope/store/run.h"
#include "store/fixture.h"

namespace kappascope::theory::test {

struct Variances {
  double measured = 1, published = 1, derived = 1, independence = 0, zero_mean = 0;
};

class SyntheticRun {
 public:
  SyntheticRun() : writer_(store::RunWriter::create(scratch_ / "run", {})) {}

  /// A condition number without a status is resolved.
  void write(std::int64_t step, std::vector<store::Scalar> scalars) {
    for (auto& scalar : scalars) {
      if (store::id::kKappas.contains(scalar.name) && scalar.status == store::Status::kOk)
        scalar.status = store::Status::kResolved;
    }
    writer_.write({.step = step, .scalars = std::move(scalars)});
  }

  /// The measured variance carries an interval of ±10 %.
  void write_variances(std::int64_t step, const std::string& layer, const Variances& values) {
    const store::Scalar measured{.name = "gradvar/measured",
                                 .layer = layer,
                                 .value = values.measured,
                                 .lower = 0.9 * values.measured,
                                 .upper = 1.1 * values.measured};
    write(step,
          {measured,
           {.name = "gradvar/published", .layer = layer, .value = values.published},
           {.name = "gradvar/derived", .layer = layer, .value = values.derived},
           {.name = "gradvar/independence", .layer = layer, .value = values.independence},
           {.name = "gradvar/zero_mean", .layer = layer, .value = values.zero_mean}});
  }

  [[nodiscard]] std::filesystem::path dir() const { return scratch_ / "run"; }

 private:
  TemporaryFolder scratch_;
  store::RunWriter writer_;
};

}  // namespace kappascope::theory::test
