// SPDX-License-Identifier: Apache-2.0
#include "session/failures.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <exception>
#include <new>

namespace kappascope::session {
namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));  // a stack trace may follow
}

/// Of the exception that is being handled.
std::string reason() {
  try {
    throw;
  } catch (const c10::Error& error) {
    return first_line(error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return "not enough memory";
  } catch (const std::exception& error) {
    return first_line(error.what());
  } catch (...) {
    return "an exception of an unknown type";
  }
}

constexpr std::string_view kProbeFailed = "probe_failed", kHessianFailed = "hessian_failed";

/// Ctrl-C in a loss that Python gives comes through LibTorch as an exception of Python's own, which
/// nothing but its text tells from others here.
bool is_interruption(const std::exception& error) {
  return std::string_view(error.what()).starts_with("KeyboardInterrupt");
}

}  // namespace

bool is_failure(const store::Event& event) {
  return event.kind == kProbeFailed || event.kind == kHessianFailed;
}

bool Failures::attempt(const std::string& layer, const std::function<void()>& work) {
  try {
    work();
    return true;
  } catch (const tensor::LostProcess&) {
    throw;
  } catch (const std::exception& error) {
    if (is_interruption(error)) throw;
    reasons_.emplace(layer, reason());
    return false;
  } catch (...) {
    reasons_.emplace(layer, reason());
    return false;
  }
}

std::set<std::string> Failures::in_any(tensor::Group& group) const {
  std::set<std::string> mine;
  for (const auto& [layer, why] : reasons_) mine.insert(layer);
  return group.all_names(mine);
}

void Failures::report(std::string_view probe, store::Snapshot& out) {
  for (const auto& [layer, why] : reasons_) {
    out.events.push_back({std::string(probe == "hessian" ? kHessianFailed : kProbeFailed),
                          layer.empty()
                              ? fmt::format("probe {}: {}; its window is left out", probe, why)
                              : fmt::format("probe {} in layer {}: {}; the layer is left out of "
                                            "this window",
                                            probe,
                                            layer,
                                            why)});
  }
  reasons_.clear();
}

}  // namespace kappascope::session
