// SPDX-License-Identifier: Apache-2.0
// An input is an INI file.
#include <map>
#include <optional>

#include "fuzz/studies.h"

namespace kappascope::fuzz {
namespace {

void check_study(std::string_view bytes) {
  const auto folder = scratch("study");
  const auto file = folder / "definition.ini";
  put(file, bytes);
  std::optional<IniSettings> settings;
  if (accepted([&] { settings = parse_ini(std::string(bytes), "file"); })) {
    accepted([&] {
      const auto text = to_ini(*settings);
      std::map<std::string, std::string> last, read;
      for (const auto& [name, value] : *settings) last[name] = value;
      for (const auto& [name, value] : parse_ini(text, "text")) read[name] = value;
      expect(read == last, "settings that were written are read as they were");
      expect(first_difference(text, text).empty(), "a text does not differ from itself");
    });
  }
  check_definition(file, folder / "runs");
}

std::vector<std::pair<std::string, std::string>> study_seeds() {
  return {{"seed-study",
           "[train]\nsteps = 1000\n[study]\nseeds = 5\nmetrics = loss/test accuracy/test\n"
           "claims = P-X3\n[arms]\nno bias = model.bias=none\nPGB = model.bias=post-gating\n"
           "[grid]\nmodel.dropout = 0 0.1\n"},
          {"seed-plain", "label = x\n[arms]\na =\n# a comment\n"},
          {"seed-names", "[a.b]\n.c = d\n[]\ne.[f = g\n"}};
}

const Registered kStudy({"study", check_study, study_seeds});

}  // namespace
}  // namespace kappascope::fuzz
