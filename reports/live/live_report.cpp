// SPDX-License-Identifier: Apache-2.0
#include "reports/live/live_report.h"

#include <fmt/format.h>

#include <deque>

#include "reports/html/text.h"
#include "reports/live/change.h"
#include "reports/live/followed_runs.h"
#include "reports/live/status.h"
#include "reports/report_page.h"
#include "reports/runs/groups.h"

namespace fs = std::filesystem;

namespace kappascope::reports {
namespace {

/// Changes that are kept for pages that lag behind; a page that is older is cheaper sent anew.
constexpr std::size_t kKeptBytes = 4'000'000;

Page waiting_page(const std::vector<fs::path>& places) {
  std::string names;
  for (const auto& place : places)
    names += (names.empty() ? "" : ", ") + escape_html(place.string());
  return {.title = "No run yet",
          .summary =
              "<section id=\"summary\" aria-label=\"Summary\"><p class=\"headline\">No run "
              "has been written yet in " +
              names +
              ".</p><p class=\"facts-line\">It appears here as soon as it is.</p>"
              "</section>",
          .heading = "What happened"};
}

}  // namespace

struct LiveReport::Impl {
  struct Change {
    std::uint64_t version = 0;  ///< that the page has by it
    std::string json{};
  };

  explicit Impl(std::vector<fs::path> places) : runs(std::move(places)) { show(); }

  /// Makes of the arms what the page shows; whether that is another page.
  bool show() {
    const Groups groups(runs.arms());
    PageState next{
        .page = runs.arms().empty() ? waiting_page(runs.places()) : page_about(groups.arms()),
        .note = note_html(runs.arms(), runs.problems())};
    next.parts = parts_of(next.page);
    for (const Arm& arm : groups.arms()) next.arms.push_back(arm.label);
    auto change = change_between(shown, next);
    if (change.empty()) return false;
    shown = std::move(next);
    ++version;
    bytes += change.size();
    kept.push_back({version, std::move(change)});
    while (bytes > kKeptBytes && kept.size() > 1) {
      bytes -= kept.front().json.size();
      kept.pop_front();
    }
    return true;
  }

  FollowedRuns runs;
  PageState shown;
  std::uint64_t version = 0;
  std::deque<Change> kept;  // of one version each, without a gap
  std::size_t bytes = 0;
};

LiveReport::LiveReport(std::vector<fs::path> places)
    : impl_(std::make_unique<Impl>(std::move(places))) {}
LiveReport::LiveReport(LiveReport&&) noexcept = default;
LiveReport& LiveReport::operator=(LiveReport&&) noexcept = default;
LiveReport::~LiveReport() = default;

bool LiveReport::refresh() {
  return impl_->runs.update() && impl_->show();
}

std::uint64_t LiveReport::version() const {
  return impl_->version;
}

std::string LiveReport::page() const {
  return page_of(impl_->shown.page,
                 Groups(impl_->runs.arms()).arms(),
                 LiveNote{.version = impl_->version, .html = impl_->shown.note});
}

std::string LiveReport::changes_since(std::uint64_t version) const {
  std::string changes;
  const auto& kept = impl_->kept;
  const bool known = version <= impl_->version && version + 1 >= kept.front().version;
  for (const auto& change : kept) {
    if (known && change.version > version) changes += (changes.empty() ? "" : ",") + change.json;
  }
  if (!known) changes = change_between({}, impl_->shown);
  return fmt::format("{{\"version\":{},\"changes\":[{}]}}", impl_->version, changes);
}

}  // namespace kappascope::reports
