// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "kappascope/store/run_reader.h"

namespace kappascope::store {

/// A run among several that are exported together.
struct NamedRun {
  std::string name;
  const RunReader* run = nullptr;
};

/// Every scalar as one CSV row
/// (step,name,layer,value,lower,upper,n,n_effective,status,attributes), RFC 4180 (lines end with
/// CR LF), by name, layer and step. Attributes are a JSON object, an empty field where there are
/// none. Numbers read back exactly; a missing one is an empty field, an infinity is "inf" or
/// "-inf", as pandas reads them. Throws when `out` fails.
void export_csv(const RunReader& run, std::ostream& out);
/// Of several runs, with their names as a last column `run`.
void export_csv(const std::vector<NamedRun>& runs, std::ostream& out);

/// Everything as one JSON object per line; "type" says of which kind:
///   {"type":"run","state","last_step"} (first)      {"type":"fact","key","value"}
///   {"type":"scalar","step","name","layer","value","lower","upper","n","n_effective","status",
///    "attributes":{key: text}}
///   {"type":"array","step","name","layer","shape","data"}   (data is flat, row-major)
///   {"type":"event","step","time","kind","message"}
///   {"type":"verdict","claim","outcome","condition","detail"}
/// What is not known is left out, except "value", which is null. JSON has no infinity and no NaN:
/// they are null, and "nonfinite" says which, e.g. {"upper":"inf"} or, by flat index, {"5":"nan"}.
/// Throws when `out` fails.
void export_jsonl(const RunReader& run, std::ostream& out);
/// Of several runs one after the other, with "run" in each line behind its type.
void export_jsonl(const std::vector<NamedRun>& runs, std::ostream& out);

/// Scalars and arrays as NumPy arrays in one .npz (a zip of .npy, numpy.load opens it). A series
/// of scalars NAME (of a layer: `NAME@LAYER`) is one vector each: NAME.step (int64), NAME.value,
/// NAME.lower, NAME.upper, NAME.n, NAME.n_effective (float64, NaN where not known) and NAME.status
/// (bytes); where any row has attributes, NAME.attributes (bytes, a JSON object or empty). A series
/// of arrays is arrays/NAME.step and arrays/NAME.value of shape [steps, shape...] or, where the
/// shape changes over the run, one arrays/NAME.value.STEP each. The first is "kappascope", the
/// version that wrote the file. What would lead out of a folder, or make two series one, is written
/// as %HH: an @ in NAME as %40, the % itself as %25.
/// Written to a temporary name and renamed; holds the whole run in memory.
void export_npz(const RunReader& run, const std::filesystem::path& file);
/// Of several runs, those of RUN as `runs/RUN/NAME`.
void export_npz(const std::vector<NamedRun>& runs, const std::filesystem::path& file);

/// What each begins with, by which a file is known to be replaceable (core/atomic_file.h).
inline constexpr std::string_view kCsvMark = "step,name,layer,value,lower,upper,n,n_effective";
/// @hideinitializer
inline constexpr std::string_view kJsonlMark = R"({"type":"run",)";
inline constexpr std::string_view kNpzMark = "kappascope.npy";

}  // namespace kappascope::store
