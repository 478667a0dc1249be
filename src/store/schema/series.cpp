// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/schema/series.h"

namespace kappascope::store {

std::string SeriesFamily::at(std::int64_t k) const {
  return std::string(prefix_) + std::to_string(k);
}

std::string SeriesFamily::of(std::string_view member) const {
  return std::string(prefix_).append(member);
}

std::string spectrum_series(const std::string& operator_kind,
                            const std::string& block,
                            SpectrumPart part) {
  return id::kSpectrum.of(operator_kind + "/" + block + "/").append(part.name());
}

std::optional<SpectrumName> parse_spectrum(std::string_view name) {
  if (!id::kSpectrum.contains(name)) return std::nullopt;
  name.remove_prefix(id::kSpectrum.prefix().size());
  // A block may hold slashes, an operator and a part do not.
  const auto first = name.find('/'), last = name.rfind('/');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  return SpectrumName{std::string(name.substr(0, first)),
                      std::string(name.substr(first + 1, last - first - 1)),
                      std::string(name.substr(last + 1))};
}

std::string median_over_steps(const std::string& series) {
  return series + "@median";
}

}  // namespace kappascope::store
