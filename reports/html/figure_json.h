// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/figures.h"

namespace kappascope::reports {

/// The figures as the page's script reads them. Values carry nine digits (a float32 survives),
/// bounds six; NaN is null and infinity the string "inf" or "-inf", which JSON has no number for.
std::string figures_json(const std::vector<Arm>& arms,
                         const std::vector<Figure>& figures,
                         const std::vector<std::string>& named = {});
/// One of them, which can be drawn.
nlohmann::ordered_json figure_json(const Figure& figure);
nlohmann::ordered_json series_json(const Series& series);
/// Of many layers, those that stand worst in the figures of κ; nothing where all are drawn.
std::vector<std::string> picked_layers(const std::vector<Figure>& figures,
                                       const std::vector<std::string>& named = {});
/// On one line; what is no UTF-8 (names come from users) is replaced.
std::string text_of(const nlohmann::ordered_json& json);

}  // namespace kappascope::reports
