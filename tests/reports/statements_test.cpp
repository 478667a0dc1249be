// SPDX-License-Identifier: Apache-2.0
// What cards, findings, tables, terminal, listing and advice state of one quantity is one number,
// and a relation between two numbers follows from the digits that are shown. Over runs that are
// drawn.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <tuple>

#include "reports/advice.h"
#include "reports/drawn_run.h"
#include "reports/findings.h"
#include "reports/findings/wording.h"
#include "reports/html/parts/summary.h"
#include "reports/number_format.h"
#include "reports/runs/listing.h"
#include "reports/summary.h"
#include "reports/terminal/frame.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

constexpr int kDraws = 25;

/// A number as words(), percent() and fmt print it.
double read(std::string text) {
  if (text.ends_with('.')) text.pop_back();  // of the sentence
  static const std::vector<std::pair<std::string, std::string>> kPlain = {{"−", "-"},
                                                                          {"×10", "e"},
                                                                          {"∞", "inf"},
                                                                          {",", ""},
                                                                          {"⁻", "-"},
                                                                          {"⁰", "0"},
                                                                          {"¹", "1"},
                                                                          {"²", "2"},
                                                                          {"³", "3"},
                                                                          {"⁴", "4"},
                                                                          {"⁵", "5"},
                                                                          {"⁶", "6"},
                                                                          {"⁷", "7"},
                                                                          {"⁸", "8"},
                                                                          {"⁹", "9"}};
  if (text.starts_with("10") && text.size() > 2 && text[2] != '.' &&
      (static_cast<unsigned char>(text[2]) & 0x80U) != 0)
    text = "1×" + text;
  for (const auto& [from, to] : kPlain) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from))
      text.replace(at, from.size(), to);
  }
  INFO(text);
  std::size_t used = 0;
  const double value = std::stod(text, &used);
  CHECK(used == text.size());
  return value;
}

/// What is stated, by quantity, arm, layer and step ("" where it is the last).
class Stated {
 public:
  using Key = std::tuple<std::string, std::string, std::string, std::string>;

  void add(const Key& key, const std::string& number, const std::string& where) {
    all_[key].emplace(number, where);
  }
  /// Every match of `pattern`: its groups are numbers and layers as `order` says, by letter: N the
  /// number, L the layer, S the step.
  void find(const std::string& text,
            const std::string& pattern,
            const std::string& order,
            const std::string& quantity,
            const std::string& arm) {
    const std::regex expression(pattern);
    for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at) {
      std::string number, layer, step;
      for (std::size_t g = 0; g < order.size(); ++g)
        (order[g] == 'N' ? number : order[g] == 'L' ? layer : step) = (*at)[g + 1];
      add({quantity, arm, layer, step}, number, text);
    }
  }
  /// How many quantities were stated at two places; each place must have said the same.
  [[nodiscard]] std::map<std::string, int> compared() const {
    std::map<std::string, int> counts;
    for (const auto& [key, statements] : all_) {
      std::string told;
      for (const auto& [number, where] : statements) told += number + " in: " + where + "\n";
      INFO(std::get<0>(key) << " of " << std::get<1>(key) << ", " << std::get<2>(key) << "\n"
                            << told);
      std::set<std::string> numbers;
      for (const auto& [number, where] : statements) numbers.insert(number);
      CHECK(numbers.size() == 1);
      if (statements.size() > 1) ++counts[std::get<0>(key)];
    }
    return counts;
  }

 private:
  std::map<Key, std::set<std::pair<std::string, std::string>>> all_;
};

/// Removes the tags, with a blank for each.
std::string without_tags(std::string html) {
  html = std::regex_replace(html, std::regex("<[^>]*>"), " ");
  return std::regex_replace(html, std::regex(" +"), " ");
}

/// All cells of a table's row, as text.
std::vector<std::string> cells_of(const std::string& html, const std::string& label) {
  const auto begin = html.find("<th scope=\"row\">" + label + "</th>");
  REQUIRE(begin != std::string::npos);
  const std::string row = html.substr(begin, html.find("</tr>", begin) - begin);
  std::vector<std::string> cells;
  const std::regex cell("<td[^>]*>(.*?)</td>");
  for (std::sregex_iterator at(row.begin(), row.end(), cell), end; at != end; ++at)
    cells.push_back((*at)[1]);
  return cells;
}

const std::string kNumber = "([^ ,;()×]+(?:×10[^ ,;()×]+)?)";  // NOLINT(cert-err58-cpp)

/// "a … p % … b": the percentage follows from a and b as they stand there.
void check_relations(const std::string& text, int& checked) {
  struct Form {
    std::string pattern;
    const char* order;
  };
  const std::string n = kNumber, p = "(under )?" + n + " %";
  const std::vector<Form> forms = {
      {"test loss " + n + ", " + p + " (?:lower|higher) than [^(]*\\(" + n + "\\)", "aupb"},
      {"at the end: \\S+ " + n + ", \\S+ " + n + "(?: \\([^)]*\\))?: \\S+ is " + p +
           " (?:lower|higher)",
       "abup"},
      {"λ1 = " + n + "(?: at step \\d+)?, " + p + " of [^=]*= " + n, "aupb"},
      {"preconditioned sharpness = " + n + ", " + p + " of [^=]*= " + n, "aupb"},
      {"reached " + p + " of [^(]*\\((?:at most |at least )?" + n + " of " + n, "upab"},
      {"it was last at " + p + " \\((?:at most |at least )?" + n + " of " + n, "upab"},
      {"sharpness λ1 is " + n + " at step \\d+, " + p + " of its limit " + n, "aupb"}};
  for (const auto& [pattern, order] : forms) {
    const std::regex expression(pattern);
    for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at) {
      std::map<char, std::string> part;
      for (std::size_t g = 0; order[g] != '\0'; ++g) part[order[g]] = (*at)[g + 1];
      INFO(at->str());
      const double a = read(part['a']), b = read(part['b']), told = read(part['p']);
      const bool difference = at->str().find("lower") != std::string::npos ||
                              at->str().find("higher") != std::string::npos;
      const double again = 100 * (difference ? std::abs(a / b - 1) : a / b);
      ++checked;
      if (!part['u'].empty()) {
        CHECK(again < told);
        continue;
      }
      // Half of the last digit that is shown.
      const auto point = part['p'].find('.');
      const double last = told >= 9'999.5 ? std::pow(10, std::floor(std::log10(told)) - 2)
                          : point == std::string::npos
                              ? 1
                              : std::pow(10, -static_cast<double>(part['p'].size() - point - 1));
      CHECK(std::abs(again - told) <= last / 2 * (1 + 1e-9));
    }
  }
}

/// Quotients in a text, "0.98×": each must be one of the forms that name both sides.
int quotients(const std::string& text) {
  const std::regex expression("[0-9.⁰¹²³⁴⁵⁶⁷⁸⁹]×(?!10)");
  return static_cast<int>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), expression), {}));
}

void state_quotients(Stated& stated, const std::string& text, const std::string& arm, int& named) {
  const auto count = [&](const std::string& pattern, const std::string& order, const char* what) {
    const std::regex expression(pattern);
    named += static_cast<int>(
        std::distance(std::sregex_iterator(text.begin(), text.end(), expression), {}));
    stated.find(text, pattern, order, what, arm);
  };
  const std::string n = kNumber, layer = "(layer\\d)";
  count("κ\\(Σ\\+μμᵀ\\) is " + n + "× κ\\(Σ\\) in " + layer, "NL", "mean costs");
  count("the mean costs " + n + "× in " + layer, "NL", "mean costs");
  count("at " + n + "× κ\\(Σ\\) in " + layer, "NL", "bias leaves");
  count("in " + layer + ",[^;]*; that is " + n + "× κ\\(Σ\\+μμᵀ\\)", "LN", "bias changes");
  count("changes κ\\(Σ\\+μμᵀ\\) most in " + layer + "(?: or (?:\\d+ others?|any other))?: to " + n +
            "× of it",
        "LN",
        "bias changes");
  count("the mean costs " + n + "× the steps in " + layer, "NL", "mean costs in steps");
  count("needs " + n + "× the steps to learn 90 % in " + layer, "NL", "mean costs in steps");
  count("needs " + n + "× the steps that it would need without a mean in " + layer,
        "NL",
        "bias leaves in steps");
  count("in " + layer + ",[^;]*; that is " + n + "× those", "LN", "bias changes in steps");
  count("changes the steps to learn 90 % most in " + layer +
            "(?: or (?:\\d+ others?|any other))?: to " + n + "× of those",
        "LN",
        "bias changes in steps");
}

void state_advice(Stated& stated, const nlohmann::json& advice, const std::string& arm) {
  const auto add = [&](const nlohmann::json& layer, const char* key, std::string quantity) {
    const auto ratio = layer.value(key, nlohmann::json());
    if (ratio.is_null()) return;
    if (layer["in"] == "steps" && std::string(key).rfind("variance", 0) != 0)
      quantity += " in steps";
    stated.add({quantity, arm, layer["layer"], ""}, words(ratio["value"]), "advise --json");
  };
  for (const auto& layer : advice["layers"]) {
    add(layer, "mean_costs", "mean costs");
    add(layer, "bias_leaves", "bias leaves");
    add(layer, "bias_changes", "bias changes");
    add(layer, "variance_at_minus_mean", "variance at -mean");
    add(layer, "variance_at_best", "variance at best");
  }
}

}  // namespace

TEST_CASE("one quantity is one number wherever it is stated, and named as what it is",
          "[statements]") {
  std::map<std::string, int> compared;
  int relations = 0, ratios = 0;
  for (int seed = 0; seed < kDraws; ++seed) {
    Random draw{std::mt19937(static_cast<unsigned>(seed))};
    const TemporaryFolder folder;
    const std::vector<std::filesystem::path> runs = {write_drawn(draw, folder / "plain", false),
                                                     write_drawn(draw, folder / "biased", true)};
    for (const auto& run : runs) {
      const auto arms = read_arms({run});
      const Arm& arm = arms.front();
      INFO("seed " << seed << ", " << arm.label);
      Stated stated;
      const auto summary = summarise(arms);
      const auto findings = find_findings(arms);
      const auto advice = nlohmann::json::parse(to_json(reports::advice(run)));
      const auto listed = summary_of(run);
      std::vector<std::string> texts;
      for (const auto& answer : summary.answers) {
        for (const auto& reading : answer.readings)
          texts.push_back(reading.number + " | " + reading.interval);
      }
      for (const auto& finding : findings) texts.push_back(finding.text);
      const std::string n = kNumber;
      for (const auto& text : texts) {
        int named = 0;
        state_quotients(stated, text, arm.label, named);
        ratios += named;
        check_relations(text, relations);
        stated.find(text, "probing took " + n + " %", "N", "cost", arm.label);
        stated.find(text, "(\\d+) spikes? of the", "N", "spikes", arm.label);
        stated.find(text, "test loss " + n + " at step (\\d+)", "NS", "test loss", arm.label);
        stated.find(text,
                    "preconditioned sharpness = " + n + ", [^=]*= \\S+ at step (\\d+)",
                    "NS",
                    "seen",
                    arm.label);
        const std::string in = "gradient variance in (layer\\d) is .*?";
        stated.find(text, in + n + "× at the best b", "LN", "variance at best", arm.label);
        stated.find(text, in + n + "× at b = −μ", "LN", "variance at -mean", arm.label);
        stated.find(text, "In (layer\\d) it is " + n + "×", "LN", "variance at -mean", arm.label);
        // Card and findings name the two sides of every quotient of condition numbers.
        if (text.find("κ") != std::string::npos && text.find("|") != std::string::npos) {
          INFO(text);
          CHECK(quotients(text.substr(0, text.find(" | "))) == named);
        }
      }
      stated.find(
          summary.headline, "Test loss " + n + " at step (\\d+)", "NS", "test loss", arm.label);
      state_advice(stated, advice, arm.label);
      for (const auto& suggestion : advice["suggestions"]) {
        const std::string evidence = suggestion["evidence"];
        check_relations(evidence, relations);
        stated.find(evidence, "training loss has (\\d+) spike", "N", "spikes", arm.label);
      }

      const auto table = cells_of(arms_html(arms), arm.label);
      stated.add({"steps", arm.label, "", ""}, without_tags(table[1]), "arms table");
      stated.add({"steps", arm.label, "", ""}, grouped(double(listed.steps)), "listing");
      stated.add({"last test loss", arm.label, "", ""}, table[2], "arms table");
      stated.add({"last test loss", arm.label, "", ""}, words(listed.test_loss), "listing");
      if (table[6] != "not measured")
        stated.add({"cost %", arm.label, "", ""}, table[6], "arms table");
      for (const auto& reading : summary.answers[3].readings)
        stated.find(reading.number, "^probing took (.*) of the", "N", "cost %", arm.label);
      if (const auto& slowest = listed.slowest; !slowest.layer.empty()) {
        const auto steps = steps_in_words(slowest.scalar);
        stated.add({"slowest", arm.label, "", ""}, steps + " in " + slowest.layer, "listing");
        stated.find(table[3], "^([^<]*)", "N", "slowest", arm.label);
        stated.find(
            texts.front(), "^90 % learned after (.*) steps \\| ", "N", "slowest alone", arm.label);
        stated.add({"slowest alone", arm.label, "", ""}, steps, "listing");
      }
      const std::regex worst("^(not resolved \\()?([^ <)]+)\\)? in (layer\\d)");
      if (std::smatch found;
          listed.slowest.layer.empty() && std::regex_search(table[3], found, worst)) {
        stated.add({"worst κ", arm.label, "", ""}, found[2].str() + found[3].str(), "arms table");
        stated.add({"worst κ", arm.label, "", ""},
                   words(listed.worst_kappa.scalar.value) + listed.worst_kappa.layer,
                   "listing");
        CHECK(found[1].matched == !is_resolved(listed.worst_kappa.scalar));
        stated.find(texts.front(), "^κ = " + n + " \\| ", "N", "worst κ alone", arm.label);
        if (!found[1].matched)
          stated.add({"worst κ alone", arm.label, "", ""}, found[2], "arms table");
      }
      // A share of the mean is one of it: no percentage below none or above all.
      const std::regex share("(−?[^ ]+) %");
      for (std::sregex_iterator at(table[4].begin(), table[4].end(), share), end; at != end; ++at) {
        INFO(table[4]);
        CHECK(read((*at)[1]) >= 0);
        CHECK(read((*at)[1]) <= 100);
      }
      const auto frame = frame_of(arms, {.columns = 400});
      stated.find(frame, "test " + n, "N", "last test loss", arm.label);
      for (const auto& [what, count] : stated.compared()) compared[what] += count;
    }
    const auto both = read_arms(runs);
    Stated stated;
    check_relations(summarise(both).headline, relations);
    for (const auto& finding : find_findings(both)) check_relations(finding.text, relations);
    const std::string n = kNumber;
    stated.find(summarise(both).headline, "test loss " + n + ",", "N", "test loss", "biased");
    for (const auto& finding : find_findings(both))
      stated.find(finding.text, "at the end: biased " + n + ",", "N", "test loss", "biased");
    for (const auto& [what, count] : stated.compared()) compared[what] += count;
  }
  // The walk has found what it looks for.
  for (const char* what : {"mean costs",
                           "bias leaves",
                           "bias changes",
                           "variance at best",
                           "variance at -mean",
                           "cost",
                           "spikes",
                           "test loss",
                           "last test loss",
                           "steps",
                           "worst κ",
                           "worst κ alone",
                           "slowest",
                           "slowest alone",
                           "mean costs in steps",
                           "bias leaves in steps",
                           "bias changes in steps",
                           "cost %"}) {
    INFO(what);
    CHECK(compared[what] > 5);
  }
  CHECK(relations > 2 * kDraws);
  CHECK(ratios > kDraws);
}

}  // namespace kappascope::reports
