// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kappascope/session/alarms.h"
#include "kappascope/store/record.h"

namespace kappascope::session {

/// What a rule remembers: numbers by layer.
using Memory = std::map<std::string, std::vector<double>>;

/// One reason for an alarm.
class Rule {
 public:
  /// One that knows a layer by so many numbers.
  Rule(store::AlarmId id, std::size_t numbers) : id_(id), numbers_(numbers) {}
  virtual ~Rule() = default;
  Rule(const Rule&) = delete;
  Rule& operator=(const Rule&) = delete;

  [[nodiscard]] store::AlarmId id() const { return id_; }
  /// Adds the alarms that these numbers of a step raise; `before`: the last ones of all rules.
  virtual void evaluate(const store::Snapshot& snapshot,
                        const std::deque<Alarm>& before,
                        std::vector<Alarm>& out) = 0;
  [[nodiscard]] virtual Memory memory() const { return memory_; }
  /// Throws Error where the numbers are none of such a rule.
  virtual void load(const Memory& memory);

 protected:
  Memory memory_;

 private:
  store::AlarmId id_;
  std::size_t numbers_;
};

/// The rules that the options name, in the order of AlarmId.
std::vector<std::unique_ptr<Rule>> rules_of(const AlarmOptions& options);

// Those with more than a few lines, a file each.
std::unique_ptr<Rule> change_rule(store::AlarmId id,
                                  store::SeriesId series,
                                  const char* what,
                                  const ChangeOptions& options);
std::unique_ptr<Rule> non_finite_rule();

/// The number of this name and layer in a snapshot; nullptr for none.
const store::Scalar* find(const store::Snapshot& snapshot,
                          const std::string& name,
                          const std::string& layer = "");

}  // namespace kappascope::session
