// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/workplace.h"

using Catch::Contains;
using Catch::StartsWith;
using kappascope::testing::Workplace;

namespace {

/// The subcommands that --help lists, but `demo`, which needs the Python package.
std::vector<std::string> subcommands(const std::string& help) {
  static const std::regex row("\n  ([a-z]+) +[^\n]+");
  std::vector<std::string> names;
  for (auto found = std::sregex_iterator(help.begin(), help.end(), row),
            end = std::sregex_iterator();
       found != end;
       ++found)
    if ((*found)[1] != "demo") names.push_back((*found)[1]);
  return names;
}

}  // namespace

TEST_CASE(
    "help teaches: the program, each subcommand, lines of a terminal's width, files that exist") {
  const Workplace work;
  const auto help = work.run("--help");
  CHECK(help.status == 0);
  const auto commands = subcommands(help.out);
  CHECK(commands.size() >= 13);
  const std::regex file("experiments/[a-z0-9/-]+\\.ini");
  std::map<std::string, std::string> texts;
  for (const auto& command : commands) {
    CAPTURE(command);
    const auto own = work.run(command + " --help");
    CHECK(own.status == 0);
    CHECK_THAT(own.out, Contains("usage: kappascope " + command));
    CHECK(own.err.empty());
    for (auto found = std::sregex_iterator(own.out.begin(), own.out.end(), file);
         found != std::sregex_iterator();
         ++found) {
      CAPTURE(found->str());
      CHECK(std::filesystem::exists(std::filesystem::path(KAPPASCOPE_EXPERIMENTS).parent_path() /
                                    found->str()));
    }
    texts[command] = own.out;
  }
  CHECK_THAT(texts["report"], Contains("Arguments\n  RUN...") && !Contains("--run"));
  CHECK_THAT(texts["runs"], Contains("[DIR]") && Contains("(default: runs)"));
  CHECK_THAT(texts["verify"], Contains("[CLAIM...]"));
  std::istringstream lines(work.run("train --help all").out);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
    CHECK_THAT(line, !Contains("0000000"));
  }
  CHECK(work.run("").status == 2);
  CHECK_THAT(work.run("--version").out, StartsWith("kappascope 0."));
}

TEST_CASE("a text with a placeholder of error messages in it is refused as any other") {
  const Workplace work;
  // The library puts each text into its message until no placeholder is left.
  for (const std::string text :
       {"%value%", "%canonical_option%", "%original_token%", "%prefix%", "100%", "%%value%%"}) {
    CAPTURE(text);
    const auto value = work.run("train --train.learning-rate " + text);
    CHECK(value.status == 2);
    CHECK_THAT(value.err, Contains("learning-rate") && Contains("%"));
    CHECK(work.run("train --" + text + " 1").status == 2);
    CHECK(work.run("train --train.steps=" + text).status == 2);
  }
}

TEST_CASE("the settings of train come in groups, the common ones first") {
  const Workplace work;
  const auto help = work.run("train --help").out;
  CHECK_THAT(help,
             Contains("Common settings\n  --model.kind NAME") && Contains("--help GROUP") &&
                 Contains("--train.learning-rate X") && Contains("(default: 0.001)"));
  CHECK_THAT(help, !Contains("--model.latent") && !Contains("--attack.rows"));
  const auto model = work.run("train --help model");
  CHECK(model.status == 0);
  CHECK_THAT(model.out, Contains("--model.bias NAME") && !Contains("--train."));
  CHECK(work.run("train --help=attack").out == work.run("train -h attack").out);
  const auto all = work.run("train --help all").out;
  for (const auto* option : {"--label", "--data.path", "--model.patch", "--probes.density"})
    CHECK_THAT(all, Contains(option));
  const auto wrong = work.run("train --help modle");
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.err, Contains("did you mean 'model'?"));
}

TEST_CASE("train without arguments says what to pass and does nothing, exit 2") {
  const Workplace work;
  const auto got = work.run("train");
  CHECK(got.status == 2);
  CHECK(got.out.empty());
  CHECK_THAT(got.err,
             StartsWith("usage: kappascope train") && Contains("--config") && Contains("--data"));
  CHECK_FALSE(std::filesystem::exists(work.path() / "runs"));
}

TEST_CASE("wrong usage is one line that says what to do, exit 2") {
  const Workplace work;
  const auto check = [&](const std::string& words, const std::string& part) {
    CAPTURE(words);
    const auto got = work.run(words);
    CHECK(got.status == 2);
    CHECK(got.out.empty());
    CHECK_THAT(got.err, StartsWith("kappascope: error: ") && Contains(part));
    CHECK(std::count(got.err.begin(), got.err.end(), '\n') == 1);
  };
  check("trian", "did you mean 'train'?");
  check("train --model.wdith 5", "did you mean 'model.width'?");
  check("train --model.width zero", "model.width");
  check("train --model.width 5 --model.width 6", "more than once");
  check("train --data data --model.bias pgb", "post-gating");
  check("train --config nowhere.ini", "nowhere.ini");
  check("train --data data --train.seed -1", "train.seed must be 0 to 9223372036854775807");
  check("train --data data --train.threads 100000", "train.threads must be 0 to 4096, got 100000");
  check("verify P-Q9", "no claim begins with");
  check("export run --format xls", "csv, jsonl or npz");
  check("export run --format npz", "--out");
  check("report", "RUN... is missing; usage: kappascope report RUN_OR_FOLDER...");
  check("export one two", "too many arguments");
  // What only the data can tell comes after the line that says that they are read.
  const auto later = [&](const std::string& words, const std::string& part) {
    CAPTURE(words);
    const auto got = work.run(words);
    CHECK(got.status == 2);
    CHECK_THAT(got.err, Contains(": reading data\nkappascope: error: ") && Contains(part));
    CHECK(std::count(got.err.begin(), got.err.end(), '\n') == 2);
  };
  later("train --data data --train.batch 601", "only 600 training images");
  later("train --data data --probes.window 300", "window");
}

TEST_CASE("a model that no memory holds is one line, without a stack trace, exit 1") {
  const Workplace work;
  const auto got = work.run("train --data data --model.hidden 4000000000000 --out huge");
  CHECK(got.status == 1);
  CHECK_THAT(got.err, Contains("kappascope: error: not enough memory: "));
  CHECK_THAT(got.err, !Contains("frame #") && !Contains("enforce fail"));
}

TEST_CASE("an unknown option in a configuration file is named with its file and a suggestion") {
  const Workplace work;
  kappascope::testing::write_bytes(work.path() / "wrong.ini", "[train]\nlerning-rate = 0.1\n");
  const auto got = work.run("train --data data --config wrong.ini");
  CHECK(got.status == 2);
  CHECK_THAT(
      got.err,
      Contains("wrong.ini") && Contains("train.lerning-rate") && Contains("'train.learning-rate'"));
  kappascope::testing::write_bytes(work.path() / "broken.ini", "this is no setting\n");
  CHECK(work.run("train --data data --config broken.ini").status == 2);
}

TEST_CASE("a configuration file does not say where something is written, or what is replaced") {
  const Workplace work;
  for (const std::string setting :
       {"save = notes.txt", "out = elsewhere", "force = true", "resume = elsewhere"}) {
    CAPTURE(setting);
    kappascope::testing::write_bytes(work.path() / "notes.txt", "mine");
    kappascope::testing::write_bytes(work.path() / "given.ini", setting + "\n");
    const auto got = work.run(Workplace::train("--train.steps 2 --out run --config given.ini"));
    CHECK(got.status == 2);
    CHECK_THAT(got.err, Contains(setting.substr(0, setting.find(' '))) && Contains("given.ini"));
    CHECK(kappascope::testing::slurp(work.path() / "notes.txt") == "mine");
    CHECK_FALSE(std::filesystem::exists(work.path() / "elsewhere"));
    CHECK_FALSE(std::filesystem::exists(work.path() / "run"));
  }
}

TEST_CASE("what the environment lacks is an error with the path, exit 1") {
  const Workplace work;
  const auto check = [&](const std::string& words, const std::string& part) {
    CAPTURE(words);
    const auto got = work.run(words);
    CHECK(got.status == 1);
    CHECK_THAT(got.err, Contains("kappascope: error: ") && Contains(part));
  };
  check("train --data elsewhere", "elsewhere");
  check("report missing-run", "missing-run");
  check("spectrum missing-run", "missing-run");
  check("export missing-run", "missing-run");
  check("runs missing-folder", "missing-folder");
  check("verify P-P1g --run missing-run", "missing-run");
  std::filesystem::create_directory(work.path() / "empty");
  check("train --data empty", "train-images-idx3-ubyte");
}

TEST_CASE(
    "a result that nobody receives is an error, and an error that nobody reads is still one") {
  const Workplace work;
  REQUIRE(work.run(Workplace::train("--train.steps 3 --out run")).status == 0);
  for (const std::string command :
       {"check run", "runs .", "export run", "--help", "check --help"}) {
    CAPTURE(command);
    const auto got = work.run(command, R"(sh -c '"$@" >/dev/full' _)");
    CHECK(got.status == 1);
    CHECK_THAT(got.err, StartsWith("kappascope: error: cannot write"));
    CHECK(std::count(got.err.begin(), got.err.end(), '\n') == 1);
  }
  const std::string unread = R"(sh -c '"$@" 2>/dev/full' _)";
  CHECK(work.run("check nothing", unread).status == 1);
  CHECK(work.run("nonsense", unread).status == 2);
  CHECK(work.run(Workplace::train("--train.steps 3 --out other"), unread).status == 0);
  CHECK(work.run("check other").status == 0);
}

TEST_CASE("a configuration that cannot be read to its end is an error, not the defaults") {
  const Workplace work;
  const auto got = work.run("train --config /proc/self/mem --out run");
  CHECK(got.status == 1);
  CHECK_THAT(
      got.err,
      Contains(
          "kappascope: error: cannot read the configuration file /proc/self/mem: Input/output"));
  const auto study = work.run("sweep /proc/self/mem");
  CHECK(study.status == 1);
  CHECK_THAT(study.err, Contains("cannot read the study /proc/self/mem: Input/output"));
}
