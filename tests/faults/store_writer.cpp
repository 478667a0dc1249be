// SPDX-License-Identifier: Apache-2.0
// A writer of runs that says what it relies on, for the power cuts; and what is left of a run.
//   store_writer write FOLDER SEED   sessions that write a run, files beside it and exports
//   store_writer check [--go-on]     one run a line of the input, one JSON object a line of the
//                                    output; with --go-on each is also resumed and written to
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "core/atomic_file.h"
#include "kappascope/store/export.h"
#include "store/check.h"
#include "store/fixture.h"

namespace {

using kappascope::make_directories;
using kappascope::write_atomically;
using kappascope::write_text_atomically;
using kappascope::store::RunReader;
using kappascope::store::RunWriter;
namespace store = kappascope::store;
namespace fs = std::filesystem;

/// Tells the recorder, where it is loaded, what must be there after a power cut from now on.
void mark(const std::string& text) {
  using Mark = void (*)(const char*);
  static const auto record = reinterpret_cast<Mark>(dlsym(RTLD_DEFAULT, "kappascope_record_mark"));
  if (record != nullptr) record(text.c_str());
}

store::Snapshot snapshot(std::int64_t step) {
  auto out = store::test::snapshot(step);
  out.scalars.push_back({.name = store::id::kLossTrain, .value = 1.0 / (1.0 + step)});
  return out;
}

fs::path saved_at(const fs::path& run, std::int64_t step) {
  return run / "checkpoints" / fmt::format("step-{:08}.txt", step);
}

/// What training does at a checkpoint: the store first, then the file, then the oldest goes.
void checkpoint(RunWriter& writer, std::int64_t step, std::mt19937& random) {
  writer.make_durable();
  mark(fmt::format("steps {}", step + 1));
  make_directories(writer.dir() / "checkpoints");
  std::string text;
  while (text.size() < 4000) text += fmt::format("{} {:08x}\n", step, random());
  write_text_atomically(saved_at(writer.dir(), step), text);
  mark("file " + saved_at(writer.dir(), step).string());
  std::vector<fs::path> files(fs::directory_iterator(writer.dir() / "checkpoints"), {});
  std::sort(files.begin(), files.end());
  for (std::size_t i = 0; i + 3 < files.size(); ++i) {
    mark("gone " + files[i].string());
    fs::remove(files[i]);
  }
}

void write_steps(RunWriter& writer, std::int64_t first, std::int64_t end, std::mt19937& random) {
  for (auto step = first; step < end; ++step) {
    writer.write(snapshot(step));
    if (random() % 9 == 0) checkpoint(writer, step, random);
  }
}

void export_run(const fs::path& run, const fs::path& folder) {
  make_directories(folder);
  const RunReader reader(run);
  for (const std::string name : {"numbers.npz", "numbers.csv", "numbers.csv"}) {
    const auto file = folder / name;
    if (file.extension() == ".npz") {
      store::export_npz(reader, file);
    } else {
      write_atomically(file, [&](const fs::path& temporary) {
        std::ofstream out(temporary, std::ios::binary);
        store::export_csv(reader, out);
      });
    }
    mark("file " + file.string());
  }
}

/// A run that is closed, resumed for so long that SQLite empties its log by itself, left as by a
/// crash, resumed again and finished.
int write_run(const fs::path& folder, unsigned seed) {
  std::mt19937 random(seed);
  const auto run = folder / "study" / "run";
  {
    auto writer = RunWriter::create(run, {{"seed", fmt::format("{}", seed)}});
    mark("steps 0");
    write_steps(writer, 0, 12, random);
  }
  const pid_t crashes = fork();
  if (crashes == 0) {
    auto writer = RunWriter::resume(run, 11);
    write_steps(writer, 12, 230, random);
    _exit(0);
  }
  int status = 0;
  if (waitpid(crashes, &status, 0) != crashes || status != 0) return 1;
  const auto last = RunReader(run).last_step();
  auto writer = RunWriter::resume(run, last);
  write_steps(writer, last + 1, last + 20, random);
  writer.write_verdict({"P-X", "holds", "when", "{}"});
  writer.set_state("finished");
  mark("state finished");
  mark(fmt::format("steps {}", last + 20));
  export_run(run, folder / "out");
  return 0;
}

nlohmann::json look(const fs::path& run, bool go_on) {
  if (!RunWriter::holds_run(run)) return {{"there", false}};
  nlohmann::json out = {{"there", true}};
  std::int64_t last = 0;
  {
    const auto damage = store::check_store(run).damage;
    const RunReader reader(run);
    last = reader.last_step();
    out["damage"] = damage;
    out["steps"] = last + 1;
    out["state"] = reader.state();
    std::int64_t losses = 0;
    for (const auto& row : reader.scalars({std::string(store::id::kLossTrain), ""}))
      losses += row.step == losses ? 1 : 0;  // one after the other, without a gap
    out["losses"] = losses;
  }
  if (!go_on) return out;
  RunWriter::resume(run, last).write(snapshot(last + 1));
  out["goes_on"] = store::check_store(run).damage.empty() && RunReader(run).last_step() == last + 1;
  return out;
}

int check_runs(bool go_on) {
  for (std::string run; std::getline(std::cin, run);) {
    nlohmann::json out;
    try {
      out = look(run, go_on);
    } catch (const std::exception& error) {
      out = {{"there", true}, {"error", error.what()}};
    }
    std::cout << out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 3 && words[0] == "write") return write_run(words[1], std::stoul(words[2]));
    if (!words.empty() && words[0] == "check") return check_runs(words.size() > 1);
  } catch (const std::exception& error) {
    fmt::print(stderr, "store_writer: {}\n", error.what());
    return 1;
  }
  fmt::print(stderr, "usage: store_writer write FOLDER SEED | store_writer check [--go-on]\n");
  return 2;
}
