// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "kappascope/store/record.h"
#include "kappascope/tensor/group.h"

namespace kappascope::session {

/// Whether it is the event that a failed window leaves.
bool is_failure(const store::Event& event);

/// What failed in a probe's window: a layer's part of it, or ("") all of it, and why. It costs that
/// part and never training, so little goes past attempt().
class Failures {
 public:
  /// Does `work`; false where it threw, whatever that was. tensor::LostProcess and the interruption
  /// of a program in Python are thrown on.
  bool attempt(const std::string& layer, const std::function<void()>& work);
  [[nodiscard]] bool contains(const std::string& layer) const { return reasons_.contains(layer); }
  [[nodiscard]] bool empty() const { return reasons_.empty(); }
  /// What failed in any process of the group (collective), so that all leave out the same.
  [[nodiscard]] std::set<std::string> in_any(tensor::Group& group) const;
  /// Adds an event for each ("hessian_failed", or "probe_failed" of other probes), and begins anew.
  void report(std::string_view probe, store::Snapshot& out);

 private:
  std::map<std::string, std::string> reasons_;  // by layer
};

}  // namespace kappascope::session
