// SPDX-License-Identifier: Apache-2.0
// An input is how many images a flat folder has (1 to 6: a.png to f.png), then CelebA's list of
// their parts.
#include <array>
#include <map>
#include <optional>
#include <sstream>

#include "fuzz/images.h"

namespace kappascope::fuzz {
namespace {

constexpr std::size_t kMostImages = 6;

std::string name_of(std::size_t image) {
  return std::string(1, static_cast<char>('a' + image)) + ".png";
}

/// The part of every name, by a second reading of the format: a name, blanks and one digit a line.
/// Nothing where a line is another.
std::optional<std::map<std::string, int>> parts_of(const std::string& list) {
  constexpr auto kBlanks = " \t\r\v\f";
  std::map<std::string, int> parts;
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    const auto begin = line.find_first_not_of(kBlanks);
    if (begin == line.npos) continue;
    const auto end = line.find_first_of(kBlanks, begin);
    const auto part = line.find_first_not_of(kBlanks, end);
    if (end == line.npos || part == line.npos || line[part] < '0' || line[part] > '2') return {};
    if (line.find_first_not_of(kBlanks, part + 1) != line.npos) return {};
    if (!parts.emplace(line.substr(begin, end - begin), line[part] - '0').second) return {};
  }
  return parts;
}

void check_partition(std::string_view bytes) {
  Input input(bytes);
  const auto folder = scratch("partition");
  const auto images = 1 + input.below(kMostImages);
  for (std::size_t i = 0; i < kMostImages; ++i) {
    if (i < images) {
      put(folder / name_of(i), "");
    } else {
      std::filesystem::remove(folder / name_of(i));
    }
  }
  const std::string list(input.rest());
  put(folder / "list_eval_partition.txt", list);
  const auto parts = parts_of(list);
  std::array<std::int64_t, 3> count{};
  bool complete = parts.has_value();
  for (std::size_t i = 0; complete && i < images; ++i) {
    const auto part = parts->find(name_of(i));
    complete = part != parts->end();
    if (complete) ++count.at(static_cast<std::size_t>(part->second));
  }
  for (const auto split : {data::Split::kTrain, data::Split::kTest}) {
    std::unique_ptr<data::ImageSource> set;
    const bool opened = accepted([&] { set = data::open_images(folder, split, {.size = 4}); });
    const auto expected = count.at(split == data::Split::kTest ? 2 : 0);
    expect(opened == (complete && expected > 0),
           "a list is followed where each line is one image and its part, and all are named");
    expect(!opened || set->size() == expected, "a part has the images that the list gives it");
  }
}

std::vector<std::pair<std::string, std::string>> partition_seeds() {
  const auto of = [](std::size_t images, const std::string& list) {
    return std::string(1, static_cast<char>(images - 1)) + list;
  };
  return {{"seed-list", of(3, "a.png 0\nb.png 1\nc.png 2\n")},
          {"seed-blanks", of(2, "  a.png\t0\r\n\n b.png   2")},
          {"seed-cut", of(3, "a.png 0\nb.png 2\nc.pn")},
          {"seed-twice", of(2, "a.png 0\na.png 2\nb.png 2\n")},
          {"seed-one-line", of(2, "a.png 0 b.png 2\n")}};
}

const Registered kPartition({"partition", check_partition, partition_seeds});

}  // namespace
}  // namespace kappascope::fuzz
