// SPDX-License-Identifier: Apache-2.0
#include "kappascope/study/study.h"

#include <map>
#include <optional>
#include <set>

#include "fuzz/fuzz.h"

namespace kappascope::fuzz {
namespace {

void check_study(std::string_view bytes) {
  const auto folder = scratch("study");
  const auto file = folder / "definition.ini";
  put(file, bytes);
  std::optional<study::Settings> settings;
  if (accepted([&] { settings = study::parse_ini(std::string(bytes), "file"); })) {
    accepted([&] {
      const auto text = study::to_ini(*settings);
      std::map<std::string, std::string> last, read;
      for (const auto& [name, value] : *settings) last[name] = value;
      for (const auto& [name, value] : study::parse_ini(text, "text")) read[name] = value;
      expect(read == last, "settings that were written are read as they were");
      expect(study::first_difference(text, text).empty(), "a text does not differ from itself");
    });
  }
  std::optional<study::StudyDefinition> definition;
  if (!accepted([&] { definition = study::read_definition(file); })) return;
  study::validate(*definition);
  auto runs = static_cast<double>(definition->arms.size() * definition->seeds.size());
  for (const auto& [setting, values] : definition->grid) runs *= static_cast<double>(values.size());
  if (runs > 500) return;
  std::vector<study::StudyRun> planned;
  if (!accepted([&] { planned = study::plan_runs(*definition, folder / "runs"); })) return;
  expect(static_cast<double>(planned.size()) == runs, "there is a run an arm, condition and seed");
  std::set<std::string> names;
  for (const auto& run : planned) {
    expect(names.insert(run.name).second, "no two runs share a folder");
    expect(run.dir.parent_path() == folder / "runs" && run.dir.filename() == run.name &&
               run.name != "." && run.name != "..",
           "a run lies in the folder of its study");
  }
  study::find_progress(planned);
  for (const auto& run : planned)
    expect(run.progress == study::Progress::kMissing, "no run was there");
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
