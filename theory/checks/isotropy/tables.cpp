// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/isotropy/tables.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/names.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

struct Row {
  std::string name, loss;
};

const std::vector<Row>& table1() {
  static const std::vector<Row> rows{{"Base GLU", "5.7969"},
                                     {"+ Isotropy Branch", "5.7482"},
                                     {"+ Orthogonal Init", "5.7333"},
                                     {"+ LayerNorm", "5.7201"},
                                     {"Final Config", "4.9970"}};
  return rows;
}

const std::vector<Row>& table2() {
  static const std::vector<Row> rows{{"Initial Implementation", "5.7969"},
                                     {"GLU-inspired Version", "5.7482"},
                                     {"Optimized Architecture", "5.7333"},
                                     {"Final Model", "4.997"},
                                     {"SwiGLU Baseline", "4.9266"}};
  return rows;
}

Enclosure loss(const Row& row) {
  return as_printed(row.loss);
}

Enclosure step(std::size_t from, std::size_t to) {
  return loss(table1()[from]) - loss(table1()[to]);
}

int other_names() {
  int count = 0;
  for (const auto& a : table1()) {
    for (const auto& b : table2()) {
      if (overlap(loss(a), loss(b)) && a.name != b.name) ++count;
    }
  }
  return count;
}

}  // namespace

const char* to_string(TableQuantity quantity) {
  return name_in<TableQuantity::kExpansion>(
      std::array{"gap to the baseline in percent",
                 "difference of the final losses of Tables 1 and 2",
                 "share of the improvement that named rows make",
                 "improvement of the last row, which names no change",
                 "improvement of all the rows that name a change",
                 "losses under one name in Table 1, another in Table 2",
                 "feedforward dimension over hidden dimension"},
      quantity);
}

Enclosure recomputed(TableQuantity quantity) {
  const Row &final2 = table2()[3], &baseline = table2()[4];
  switch (quantity) {
    case TableQuantity::kGap:
      return (loss(final2) / loss(baseline) - Enclosure(1)) * Enclosure(100);
    case TableQuantity::kFinalLoss:
      return loss(table1().back()) - loss(final2);
    case TableQuantity::kExplainedShare:
      return step(0, 3) / step(0, 4);
    case TableQuantity::kLastStep:
      return step(3, 4);
    case TableQuantity::kListedSteps:
      return step(0, 3);
    case TableQuantity::kOtherNames:
      return Enclosure(other_names());
    case TableQuantity::kExpansion:
      return Enclosure(Rational{3072, 768});
  }
  return {};
}

Verdict check_table(const TableStatement& says) {
  Tally tally;
  const Enclosure value = recomputed(says.quantity);
  tally.record(overlap(value, says.value), [&] {
    return Witness{fmt::format("{}: {} by the printed numbers, {} as stated",
                               to_string(says.quantity),
                               value,
                               says.value),
                   value.lower.to_double(),
                   says.value.lower.to_double()};
  });
  return tally.verdict(to_string(says.quantity), "as stated", "exact");
}

}  // namespace kappascope::theory
