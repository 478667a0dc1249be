// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "kappascope/store/run.h"
#include "support/catch.h"
#include "support/workplace.h"

using Catch::Contains;
using Catch::StartsWith;
using kappascope::store::RunReader;
using kappascope::testing::Workplace;

namespace {

constexpr const char* kTiny =
    "--model.width 8 --model.hidden 12 --model.blocks 1 --model.heads 2 --train.batch 4 "
    "--train.steps 2 --train.threads 1 --probes.hessian false ";

void write_text(const Workplace& work) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "the quick brown fox ";
  kappascope::testing::write_bytes(work.path() / "text.txt", text);
}

}  // namespace

TEST_CASE("a text as data selects a language model, and says so") {
  const Workplace work;
  write_text(work);
  const auto got = work.run(std::string("train --data text.txt --out run ") + kTiny);
  REQUIRE(got.status == 0);
  CHECK_THAT(got.err, StartsWith("text.txt holds text: training a language model"));
  CHECK_THAT(RunReader(work.path() / "run").fact("config"), Contains("kind = language"));
  CHECK_THAT(RunReader(work.path() / "run").fact("model"), StartsWith("language model"));
  CHECK(RunReader(work.path() / "run").fact("optimizer") == "adam");
  CHECK_THAT(RunReader(work.path() / "run").fact("command"),
             StartsWith("kappascope train --data text.txt --out run --model.width 8"));
  const auto asked = work.run("train --data text.txt --model.kind mlp");
  CHECK(asked.status == 1);
  CHECK_THAT(asked.err, Contains("text.txt holds text") && Contains("--model.kind language"));
}

TEST_CASE("a text alone is trained on for more than a few steps") {
  const Workplace work;
  std::string text;  // a tenth of a megabyte: with batches of 256 it had four steps
  for (int i = 0; text.size() < 115'000; ++i) text += "line " + std::to_string(i) + " of many\n";
  kappascope::testing::write_bytes(work.path() / "text.txt", text);
  const std::string small =
      "--model.width 8 --model.hidden 12 --model.blocks 1 --model.heads 2 --train.threads 1 "
      "--probes.hessian false ";
  const auto got = work.run("train --data text.txt --out run " + small);
  REQUIRE(got.status == 0);
  CHECK_THAT(got.err, Contains("on batches of 32 (train.batch)"));
  const RunReader run(work.path() / "run");
  CHECK_THAT(run.fact("config"), Contains("batch = 32\n"));
  CHECK(run.last_step() >= 24);
  // What is asked for holds.
  REQUIRE(work.run("train --data text.txt --train.batch 64 --out asked " + small).status == 0);
  CHECK_THAT(RunReader(work.path() / "asked").fact("config"), Contains("batch = 64\n"));
}

TEST_CASE("a ViT-VAE takes its patch from the images") {
  const Workplace work;
  const auto got =
      work.run(std::string("train --data data --model.kind vit-vae --out run ") + kTiny);
  CHECK(got.status == 0);
  CHECK_THAT(got.err, Contains("2 steps of 4 images"));
}

TEST_CASE("train says at once what it reads, then what it does, and ends its progress line") {
  const Workplace work;
  const auto got = work.run(Workplace::train("--train.steps 12 --out run"));
  REQUIRE(got.status == 0);
  CHECK_THAT(got.err, StartsWith("both biases: reading data\nboth biases: 12 steps of 32 images"));
  CHECK_THAT(got.err, Catch::EndsWith("\n") && !Contains("?"));
  // On a terminal the line is rewritten in place, and ended before the result is printed.
  const std::string on_a_terminal = "f() { script -qec \"$*\" /dev/null; }; f";
  if (work.run("--version", on_a_terminal).status != 0) {
    WARN("not tried: this system has no pseudo terminals");
    return;
  }
  const auto terminal = work.run(Workplace::train("--train.steps 12 --out again"), on_a_terminal);
  CHECK(terminal.status == 0);
  CHECK_THAT(terminal.out, Contains("step 12/12") && Catch::EndsWith("\r\nagain\r\n"));
}

TEST_CASE("a pipe in place of a file of a data set is refused by name, not waited for") {
  const Workplace work;
  write_text(work);
  const auto pipe = [&](const std::string& name) {
    std::filesystem::create_directories((work.path() / name).parent_path());
    std::filesystem::remove(work.path() / name);
    REQUIRE(::mkfifo((work.path() / name).c_str(), 0600) == 0);
  };
  const auto refused = [&](const std::string& words, const std::string& name) {
    CAPTURE(words, name);
    const auto got = work.run(
        "train --out run --train.steps 2 --train.batch 1 --train.threads 1 " + words, "timeout 60");
    CHECK(got.status == 1);
    CHECK_THAT(got.err, Contains(name));
  };
  pipe("pipe");
  refused("--data pipe", "pipe");
  refused("--data pipe --model.kind language", "pipe");
  refused("--data data --init pipe", "pipe");
  for (const std::string name : {"data_batch_1.bin", "test_batch.bin"}) pipe("cifar/" + name);
  refused("--data cifar", "batch");
  pipe("images.npy");
  refused("--data images.npy", "images.npy");
  for (const std::string name : {"train.bin", "val.bin"}) pipe("tokens/" + name);
  refused("--data tokens --model.kind language", ".bin");
  for (const std::string name : {"train/a/1.png", "val/a/1.png"}) pipe("images/" + name);
  refused("--data images --data.image-size 8", "1.png");
  for (int i = 0; i < 4; ++i) {
    const auto name = "partition/" + std::to_string(i) + ".png";
    std::filesystem::create_directories(work.path() / "partition");
    kappascope::testing::write_bytes(work.path() / name, "");
  }
  pipe("partition/list_eval_partition.txt");
  refused("--data partition --data.image-size 8", "list_eval_partition.txt");
  pipe("data/train-images-idx3-ubyte");
  refused("--data data", "train-images-idx3-ubyte");
}

TEST_CASE("train starts from the weights of a safetensors file, and saves its own") {
  const Workplace work;
  const std::string steps = "--train.steps 5 --probes.hessian false ";
  REQUIRE(work.run(Workplace::train(steps + "--out a --save a.safetensors")).status == 0);
  REQUIRE(work.run(Workplace::train(steps + "--out b --init a.safetensors")).status == 0);
  const auto loss = [&](const char* run) {
    return RunReader(work.path() / run).scalars({"loss/train", ""});
  };
  // The second run begins where the first ended, below where that began.
  CHECK(loss("b").front().scalar.value < loss("a").front().scalar.value);
  CHECK_THAT(RunReader(work.path() / "b").fact("config"), Contains("init = a.safetensors"));
  // What a run goes on from are its checkpoints: the file is needed once.
  std::filesystem::rename(work.path() / "a.safetensors", work.path() / "elsewhere");
  CHECK(work.run("train --resume b").status == 0);
  CHECK(work.run("spectrum b --rows 50 --top 1").status == 0);
  std::filesystem::rename(work.path() / "elsewhere", work.path() / "a.safetensors");
  const auto wrong =
      work.run("train --data data --model.width 7 --init a.safetensors --out c " + steps);
  CHECK(wrong.status == 1);
  CHECK_THAT(wrong.err, Contains("a.safetensors") && Contains("embed.weight"));
  CHECK_FALSE(std::filesystem::exists(work.path() / "c"));
}
