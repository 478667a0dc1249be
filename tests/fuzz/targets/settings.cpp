// SPDX-License-Identifier: Apache-2.0
// The stored configuration of a run, and the settings of one as text.
#include "lab/cli/settings.h"

#include <optional>

#include "core/ini.h"
#include "fuzz/fuzz.h"

namespace kappascope::fuzz {
namespace {

void check_settings(std::string_view bytes) {
  const std::string text(bytes);
  std::optional<cli::Settings> settings;
  if (accepted([&] { settings = cli::from_ini(text); })) {
    const auto written = cli::to_ini(*settings);
    expect(cli::to_ini(cli::from_ini(written)) == written,
           "a configuration that was written is read as it was");
    accepted([&] { settings->train.validate(); });
  }
  // As a study sets them: one reader for files, then the same options.
  accepted([&] {
    const auto written =
        cli::to_ini(cli::settings_with(kappascope::parse_ini(text, "file"), "file"));
    expect(cli::to_ini(cli::from_ini(written)) == written,
           "settings that were made are stored as they are");
  });
}

std::vector<std::pair<std::string, std::string>> settings_seeds() {
  return {{"seed-all", cli::to_ini({})},
          {"seed-few",
           "label = an arm # of two\n[train]\nlearning-rate = 1e-3\nsteps=7\n[model]\n"
           "bias = post-gating\nresidual = false\n"},
          {"seed-numbers", "[train]\nlearning-rate = inf\nepochs = nan\nweight-decay = -0\n"}};
}

const Registered kSettings({"settings", check_settings, settings_seeds});

}  // namespace
}  // namespace kappascope::fuzz
