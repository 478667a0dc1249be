// SPDX-License-Identifier: Apache-2.0
// The rows of a run, each with its checksum, in the caller's transaction. Who calls writes `totals`
// before its end.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kappascope/store/record.h"
#include "store/rows/totals.h"

namespace kappascope::store {

/// The time of the step's first writing. Returns whether it is that.
bool put_snapshot(SQLite::Database& sql,
                  std::int64_t step,
                  const std::string& time,
                  TotalChanges& totals);

/// In place of those of the same series and step, as put_arrays(). `is_new`: there are none, as the
/// step is written for the first time.
void put_scalars(SQLite::Database& sql,
                 std::int64_t step,
                 const std::vector<Scalar>& scalars,
                 bool is_new,
                 TotalChanges& totals);

void put_arrays(SQLite::Database& sql,
                std::int64_t step,
                const std::vector<Array>& arrays,
                bool is_new,
                TotalChanges& totals);

/// Behind those that are there.
void put_events(SQLite::Database& sql,
                std::int64_t step,
                const std::string& time,
                const std::vector<Event>& events,
                TotalChanges& totals);

/// In place of that on the same claim.
void put_verdict(SQLite::Database& sql, const VerdictRow& verdict, TotalChanges& totals);

/// All that belongs to steps after `step`.
void remove_after(SQLite::Database& sql, std::int64_t step, TotalChanges& totals);

}  // namespace kappascope::store
