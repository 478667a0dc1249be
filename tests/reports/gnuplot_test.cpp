// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "kappascope/core/error.h"
#include "kappascope/reports/report.h"
#include "reports/gnuplot/panel.h"
#include "reports/gnuplot/script.h"
#include "reports/sample_run.h"
#include "support/catch.h"
#include "support/files.h"

namespace kappascope::reports {
namespace {

bool has_gnuplot() {
  if (std::system("gnuplot --version > /dev/null 2>&1") == 0) return true;
  WARN("skipped: gnuplot is not installed (apt-get install gnuplot-nox)");
  return false;
}

/// Sets a variable of the environment for the length of a test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("a gnuplot string cannot be left from within", "[gnuplot]") {
  CHECK(gnuplot_text("it's") == R"("it\047s")");
  CHECK(gnuplot_text("a\nb\\ `c` @d \"e\"") == R"("a b\134 \140c\140 \100d \042e\042")");
  CHECK(gnuplot_text("é") == R"("\303\251")");
  CHECK(gnuplot_tick("50%") == R"("50%%")");
}

TEST_CASE("labels of ticks stay apart in narrow panels", "[gnuplot]") {
  Figure figure;
  figure.columns = 3;
  figure.x = {.title = "step", .min = 0, .max = 1872};
  for (int i = 0; i < 3; ++i) figure.panels.push_back({.title = "panel", .y = {.max = 1}});
  const auto xtics = [&] {
    const auto script = gnuplot_script({}, figure, FigureFormat::kPng, "figure.png");
    const auto at = script.rfind("set xtics ");
    return at == std::string::npos ? "none" : script.substr(at, script.find('\n', at) - at);
  };
  CHECK(xtics() == "set xtics 500");  // four labels of four letters in 236 points
  figure.x.max = 18720;
  CHECK(xtics() == "set xtics 5000");
  figure.columns = 1;
  CHECK(xtics() == "set xtics 2000");
  figure.x.min = -1, figure.x.max = -0.25;
  CHECK(xtics() == "set xtics 0.1");
}

TEST_CASE("every figure is written in every format with its magic bytes", "[gnuplot]") {
  if (!has_gnuplot()) return;
  const TemporaryFolder folder;
  const std::vector<std::filesystem::path> runs = {
      write_sample_run(folder / "a"),
      write_sample_run(folder / "b", {.label = "post-gating bias", .bias = true})};
  const struct {
    FigureFormat format;
    std::string extension, magic;
  } formats[] = {{FigureFormat::kSvg, ".svg", "<?xml"},
                 {FigureFormat::kPdf, ".pdf", "%PDF-"},
                 {FigureFormat::kPng, ".png", "\x89PNG\r\n\x1a\n"}};
  for (const auto& [format, extension, magic] : formats) {
    INFO(extension);
    const auto files = write_figures(runs, folder / "out dir's", format);
    CHECK(files.size() == 21);
    for (const auto& file : files) {
      CHECK(file.extension() == extension);
      const std::string bytes = testing::slurp(file);
      CHECK(bytes.size() > 2000);
      CHECK(bytes.rfind(magic, 0) == 0);
    }
  }
}

TEST_CASE("what stands on the axis below is drawn", "[gnuplot]") {
  if (!has_gnuplot()) return;
  const TemporaryFolder folder;
  const auto run = write_sample_run(folder / "a");
  write_figures({run}, folder / "out", FigureFormat::kSvg);
  int titles = 0;
  for (const Figure& figure : build_figures(read_arms({run}))) {
    if (!figure.missing.empty() || figure.x.title.empty()) continue;
    INFO(figure.id);
    CHECK_THAT(testing::slurp(folder / "out" / (figure.id + ".svg")),
               Catch::Contains(">" + figure.x.title + "<"));
    ++titles;
  }
  CHECK(titles > 10);
}

TEST_CASE("a line of the key has what fits beside each other", "[gnuplot]") {
  Figure figure;
  figure.panels.push_back({.title = "panel", .y = {.max = 1}});
  const auto key_lines = [&](const std::string& label) {
    std::vector<Arm> arms(4);
    figure.series.clear();
    for (std::size_t a = 0; a < arms.size(); ++a) {
      arms[a].label = label;
      figure.series.push_back({.arm = a});
    }
    const auto script = gnuplot_script(arms, figure, FigureFormat::kSvg, "figure.svg");
    std::size_t lines = 0;
    for (auto at = script.find("plot NaN with"); at != script.npos;
         at = script.find("plot NaN with", at + 1))
      ++lines;
    return lines;
  };
  CHECK(key_lines("PGB") == 1);
  CHECK(key_lines(std::string(40, 'a')) == 2);
  CHECK(key_lines(std::string(80, 'a')) == 4);
}

TEST_CASE("figures pass through a temporary folder, of which nothing stays", "[gnuplot]") {
  if (!has_gnuplot()) return;
  const TemporaryFolder folder;
  const auto run = write_sample_run(folder / "a");
  std::filesystem::create_directory(folder / "scratch");
  {
    const Variable scratch("TMPDIR", (folder / "scratch").string());
    CHECK_FALSE(write_figures({run}, folder / "out", FigureFormat::kSvg).empty());
  }
  CHECK(std::filesystem::is_empty(folder / "scratch"));
  const Variable scratch("TMPDIR", (folder / "missing").string());
  CHECK_THROWS_WITH(write_figures({run}, folder / "other", FigureFormat::kSvg),
                    Catch::Contains("TMPDIR"));
}

TEST_CASE("hostile names are letters in a figure", "[gnuplot]") {
  if (!has_gnuplot()) return;
  const TemporaryFolder folder;
  const std::string label = "50% of_a^b {/:Bold x} `touch boo` @y \\n 'q' \"z\" é";
  const std::string target = (folder / "touched").string();
  const auto run = write_sample_run(
      folder / "a",
      {.label = label, .bias = true, .layer_suffix = "'; system('touch " + target + "'); '"});
  const auto files = write_figures({run}, folder / "out", FigureFormat::kSvg);
  CHECK(!std::filesystem::exists(target));
  const std::string svg = testing::slurp(files.front());
  CHECK(svg.find("50% of_a^b {/:Bold x} `touch boo` @y \\n ") != std::string::npos);
  CHECK(svg.find("é") != std::string::npos);
}

TEST_CASE("names of quotes and percent signs are drawn as they are", "[gnuplot]") {
  if (!has_gnuplot()) return;
  for (const std::string name : {"'x", "''", "a''b", "'_'", "50% off", "100%d", "\"", "\\"}) {
    INFO(name);
    const TemporaryFolder folder;
    const auto run = write_sample_run(
        folder / "a", {.label = name, .bias = true, .steps = 190, .layer_suffix = name});
    for (const auto& file : write_figures({run}, folder / "out", FigureFormat::kSvg)) {
      INFO(file.string());
      CHECK(testing::slurp(file).find(name) != std::string::npos);
    }
  }
}

TEST_CASE("a hollow mark and a triangle reach the script", "[gnuplot]") {
  const TemporaryFolder folder;
  const auto arms = read_arms({write_sample_run(folder / "a")});
  const auto figures = build_figures(arms);
  const auto found = std::ranges::find(figures, "kappa_layers", &Figure::id);
  REQUIRE(found != figures.end());
  const std::string script = gnuplot_script(arms, *found, FigureFormat::kSvg, "x.svg");
  CHECK(script.find("with points pt 6") != std::string::npos);
  CHECK(script.find("with points pt 8") != std::string::npos);
  CHECK(script.find("inf") == std::string::npos);
}

TEST_CASE("a missing gnuplot is named with its package", "[gnuplot]") {
  const TemporaryFolder folder;
  const auto run = write_sample_run(folder / "a");
  const Variable path("PATH", "/nonexistent");
  CHECK_THROWS_WITH(write_figures({run}, folder / "out", FigureFormat::kSvg),
                    Catch::Contains("apt-get install gnuplot-nox"));
}

TEST_CASE("what gnuplot complains about is passed on", "[gnuplot]") {
  const TemporaryFolder folder;
  const auto run = write_sample_run(folder / "a");
  std::filesystem::create_directory(folder / "bin");
  const auto fake = folder / "bin/gnuplot";
  std::ofstream(fake) << "#!/bin/sh\necho 'no such terminal' >&2\nexit 3\n";
  std::filesystem::permissions(fake, std::filesystem::perms::owner_all);
  const Variable path("PATH", (folder / "bin").string());
  CHECK_THROWS_WITH(write_figures({run}, folder / "out", FigureFormat::kSvg),
                    Catch::Contains("exit 3") && Catch::Contains("no such terminal"));
}

TEST_CASE("a folder that cannot be made is named", "[gnuplot]") {
  const TemporaryFolder folder;
  const auto run = write_sample_run(folder / "a");
  std::ofstream(folder / "file") << "x";
  CHECK_THROWS_WITH(write_figures({run}, folder / "file/out", FigureFormat::kSvg),
                    Catch::Contains("file/out"));
}

}  // namespace kappascope::reports
