// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <iosfwd>

#include "kappascope/store/run.h"

namespace kappascope::store {

/// Every scalar as one CSV row (step,name,layer,value,lower,upper,n,n_effective,status), RFC 4180.
void export_csv(const RunReader& run, std::ostream& out);
/// Every scalar, array, event, verdict and fact as one JSON object a line, with a "type".
void export_jsonl(const RunReader& run, std::ostream& out);
/// Scalars and arrays as NumPy arrays in one .npz (zip of .npy), one pair NAME.step, NAME.value a
/// series. Written to a temporary name and renamed.
void export_npz(const RunReader& run, const std::filesystem::path& file);

}  // namespace kappascope::store
