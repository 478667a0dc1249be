// SPDX-License-Identifier: Apache-2.0
#include "lab/data/image_folder.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_upsample_bilinear2d_aa.h>
#include <torch/types.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>

#include "core/own_files.h"
#include "core/require.h"
#include "lab/data/decode_image.h"
#include "lab/data/pixels.h"

namespace kappascope::data {
namespace {

namespace fs = std::filesystem;

bool is_image(const fs::path& path) {
  auto extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

std::vector<fs::path> sorted_entries(const fs::path& dir) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(dir)) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

std::vector<fs::path> images_in(const fs::path& dir) {
  auto found = sorted_entries(dir);
  std::erase_if(found, [](const fs::path& path) { return !is_image(path); });
  return found;
}

/// Names of the folders that hold images, sorted.
std::vector<std::string> class_folders(const fs::path& dir) {
  std::vector<std::string> names;
  for (const auto& entry : sorted_entries(dir)) {
    if (fs::is_directory(entry) && !images_in(entry).empty())
      names.push_back(entry.filename().string());
  }
  return names;
}

/// CelebA's list: a line "NAME 0", "NAME 1" or "NAME 2" for an image of the training, validation or
/// test part.
std::map<std::string, int> read_partition(const fs::path& file) {
  require_regular(file);
  std::map<std::string, int> parts;
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string name, part, more;
    if (!(words >> name)) continue;
    const bool one = words >> part && (part == "0" || part == "1" || part == "2") &&
                     !(words >> more) && parts.emplace(name, part[0] - '0').second;
    require(one,
            "{} is damaged: each of its lines must be a file name and 0, 1 or 2, and each name "
            "stand there once",
            file.string());
  }
  require(in.eof() && !parts.empty(), "{} is empty or cannot be read", file.string());
  return parts;
}

/// Scales the shorter side to `size` (linear, over the area of a pixel that becomes smaller), cuts
/// out the middle, and writes it to out [3, size, size].
void read_image(const fs::path& path, int64_t size, float* out) {
  auto image = decode_image(path);
  const auto height = image.size(0), width = image.size(1);
  const double scale = static_cast<double>(size) / static_cast<double>(std::min(width, height));
  const auto scaled = [&](int64_t side) {
    return std::max(size, int64_t{std::llround(static_cast<double>(side) * scale)});
  };
  const auto new_width = scaled(width), new_height = scaled(height);
  require(
      is_decodable(new_width, new_height),
      "{} is {} x {} pixels, and {} x {} when its shorter side is scaled to {}: a side may have "
      "{} and the image {}",
      path.string(),
      width,
      height,
      new_width,
      new_height,
      size,
      kLongestSide,
      kLargestArea);
  image = image.permute({2, 0, 1}).unsqueeze(0);
  if (new_width != width || new_height != height)
    image = at::_upsample_bilinear2d_aa(image, {new_height, new_width}, /*align_corners=*/false);
  const auto middle =
      image[0].narrow(1, (new_height - size) / 2, size).narrow(2, (new_width - size) / 2, size);
  torch::from_blob(out, {3, size, size}).copy_(middle).div_(255);
}

}  // namespace

ImageFolder::ImageFolder(const fs::path& dir, Split split, int64_t size) : size_(size) {
  const bool parts = fs::is_directory(dir / "train");
  const auto test = fs::is_directory(dir / "test") ? dir / "test" : dir / "val";
  require(parts || !fs::is_directory(test),
          "{} has a folder {} but no train",
          dir.string(),
          test.filename().string());
  require(!parts || fs::is_directory(test),
          "{} has a folder train but neither test nor val",
          dir.string());
  const auto root = !parts ? dir : split == Split::kTrain ? dir / "train" : test;
  // Labels are the classes' places among those of the training part, in both parts.
  const auto classes = class_folders(parts ? dir / "train" : dir);
  for (const auto& path : images_in(root)) files_.push_back({path, 0});
  require(files_.empty() || classes.empty(),
          "{} holds both images and folders of images: which of them is the data set?",
          root.string());
  for (const auto& name : class_folders(root)) {
    const auto place = std::ranges::find(classes, name);
    require(
        place != classes.end(), "{} is a class that train does not have", (root / name).string());
    for (const auto& path : images_in(root / name))
      files_.push_back({path, place - classes.begin()});
  }
  classes_ = std::ssize(classes);
  require(!files_.empty(),
          "{} holds no data set: IDX files (train-images-idx3-ubyte and so on), CIFAR binary, PNG "
          "or JPEG files, or a folder of them a class",
          root.string());
  require(size > 0,
          "{} is a folder of image files, which come in all sizes: say to which they shall be "
          "scaled (data.image-size)",
          dir.string());
  if (!parts) hold_out(dir, split == Split::kTest);
}

/// Leaves the training or the test part of a set that is not parted by folders.
void ImageFolder::hold_out(const fs::path& dir, bool testing) {
  if (const auto list = dir / "list_eval_partition.txt"; fs::exists(list)) {
    const auto parts = read_partition(list);
    std::erase_if(files_, [&](const File& file) {
      const auto part = parts.find(file.path.filename().string());
      require(part != parts.end(), "{} does not name {}", list.string(), file.path.string());
      return part->second != (testing ? 2 : 0);
    });
  } else {
    int64_t i = 0;
    std::erase_if(files_, [&](const File&) { return held_out(i++) != testing; });
  }
  require(!files_.empty(), "{} holds too few images to hold every tenth out", dir.string());
}

at::Tensor ImageFolder::images(const at::Tensor& indices) const {
  auto found = ahead_.find(indices);
  return found ? *found : decoded(indices);
}

at::Tensor ImageFolder::decoded(const at::Tensor& indices) const {
  const auto wanted = indices.contiguous();
  const auto* index = wanted.data_ptr<int64_t>();
  auto out = torch::empty({wanted.size(0), 3, size_, size_});
  auto* values = out.data_ptr<float>();
  at::parallel_for(0, wanted.size(0), 1, [&](int64_t begin, int64_t end) {
    for (auto i = begin; i < end; ++i) {
      read_image(
          files_.at(static_cast<std::size_t>(index[i])).path, size_, values + i * shape().size());
    }
  });
  return out;
}

at::Tensor ImageFolder::labels(const at::Tensor& indices) const {
  if (classes_ == 0) return {};
  auto out = torch::empty_like(indices);
  for (int64_t i = 0; i < indices.size(0); ++i) {
    out[i] = files_.at(static_cast<std::size_t>(indices[i].item<int64_t>())).label;
  }
  return out;
}

}  // namespace kappascope::data
