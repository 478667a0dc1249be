// SPDX-License-Identifier: Apache-2.0
#include "reports/live/live_text.h"

#include "core/printable.h"
#include "reports/live/followed_runs.h"
#include "reports/runs/groups.h"
#include "reports/terminal/frame.h"

namespace kappascope::reports {

struct LiveText::Impl {
  FollowedRuns runs;
};

LiveText::LiveText(std::vector<std::filesystem::path> places)
    : impl_(std::make_unique<Impl>(Impl{FollowedRuns(std::move(places))})) {}
LiveText::LiveText(LiveText&&) noexcept = default;
LiveText& LiveText::operator=(LiveText&&) noexcept = default;
LiveText::~LiveText() = default;

bool LiveText::refresh() {
  return impl_->runs.update();
}

std::string LiveText::frame(const TerminalSize& size) const {
  std::string text = impl_->runs.arms().empty() ? "No run has been written yet.\n"
                                                : frame_of(Groups(impl_->runs.arms()).arms(), size);
  for (const auto& problem : impl_->runs.problems()) text += printable(problem) + "\n";
  return text;
}

}  // namespace kappascope::reports
