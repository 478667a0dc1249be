// SPDX-License-Identifier: Apache-2.0
#include "program.h"
#include "support/catch.h"

using Catch::Contains;
using Catch::StartsWith;
using kappascope::testing::Workplace;

TEST_CASE("help teaches: the program, and each subcommand with an example") {
  const Workplace work;
  const auto help = work.run("--help");
  CHECK(help.status == 0);
  for (const std::string command : {"train", "spectrum", "verify", "report", "runs", "export"}) {
    CAPTURE(command);
    CHECK_THAT(help.out, Contains(command));
    const auto own = work.run(command + " --help");
    CHECK(own.status == 0);
    CHECK_THAT(own.out, Contains("usage: kappascope " + command));
    CHECK(own.err.empty());
  }
  CHECK(work.run("").status == 2);
  CHECK_THAT(work.run("--version").out, StartsWith("kappascope 0."));
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
  check("train --data data --model.width 0", "model.width must be at least 1");
  check("train --data data --train.learning-rate -1", "train.learning-rate must be positive");
  check("train --data data --train.momentum 0.9", "option of sgd");
  check("train --data data --train.batch 601", "only 600 training images");
  check("train --data data --model.bias pgb", "post-gating");
  check("train --data data --probes.window 300", "window");
  check("train --config nowhere.ini", "nowhere.ini");
  check("verify P-Q9", "no claim begins with");
  check("export run --format xls", "csv, jsonl or npz");
  check("export run --format npz", "--out");
  check("report", "--run");
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

TEST_CASE("what the environment lacks is an error with the path, exit 1") {
  const Workplace work;
  const auto check = [&](const std::string& words, const std::string& part) {
    CAPTURE(words);
    const auto got = work.run(words);
    CHECK(got.status == 1);
    CHECK_THAT(got.err, StartsWith("kappascope: error: ") && Contains(part));
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
