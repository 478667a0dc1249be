// SPDX-License-Identifier: Apache-2.0
#include "lab/data/images.h"

#include <torch/types.h>

#include "core/require.h"
#include "lab/data/image_folder.h"
#include "lab/data/pixels.h"
#include "lab/data/tokens.h"

namespace kappascope::data {
namespace {

namespace fs = std::filesystem;

class PixelSource final : public ImageSource {
 public:
  explicit PixelSource(Pixels pixels) : pixels_(std::move(pixels)) {}

  [[nodiscard]] int64_t size() const override {
    return pixels_.chosen.defined() ? pixels_.chosen.size(0) : pixels_.values.size(0);
  }
  [[nodiscard]] ImageShape shape() const override {
    return {pixels_.values.size(1), pixels_.values.size(2), pixels_.values.size(3)};
  }
  [[nodiscard]] int64_t classes() const override { return pixels_.classes; }
  [[nodiscard]] at::Tensor images(const at::Tensor& indices) const override {
    const auto at = pixels_.chosen.defined() ? pixels_.chosen.index_select(0, indices) : indices;
    return pixels_.values.index_select(0, at).to(torch::kFloat).div_(255);
  }
  [[nodiscard]] at::Tensor labels(const at::Tensor& indices) const override {
    return pixels_.labels.defined() ? pixels_.labels.index_select(0, indices) : at::Tensor();
  }

 private:
  Pixels pixels_;
};

bool has_idx(const fs::path& dir) {
  for (const auto& entry : fs::directory_iterator(dir)) {
    if (entry.path().filename().string().find("-ubyte") != std::string::npos) return true;
  }
  return false;
}

}  // namespace

bool has_file(const fs::path& dir, const std::string& stem) {
  return fs::exists(dir / stem) || fs::exists(dir / (stem + ".gz"));
}

fs::path find_file(const fs::path& dir, const std::string& stem, const std::string& advice) {
  for (const auto& name : {stem, stem + ".gz"}) {
    if (fs::exists(dir / name)) return dir / name;
  }
  throw Error("cannot find " + (dir / stem).string() + " (with or without .gz): " + advice);
}

std::unique_ptr<ImageSource> open_images(const fs::path& path,
                                         Split split,
                                         const ImageOptions& options) {
  require(fs::exists(path),
          "data {} does not exist: pass a folder of an IDX, CIFAR or image-file data set, or an "
          "NPY file, with --data; on Debian `apt-get install dataset-fashion-mnist` puts one into "
          "/usr/share/datasets/fashion-mnist",
          path.string());
  require(path.extension() == ".npy" || !holds_text(path),
          "{} holds text, and this model reads images: pass --model.kind language",
          path.string());
  const auto source = [](Pixels pixels) {
    return std::make_unique<PixelSource>(std::move(pixels));
  };
  if (!fs::is_directory(path)) return source(map_npy(path, split));
  if (has_idx(path)) return source(read_idx(path, split));
  if (has_file(path, "data_batch_1.bin") || has_file(path, "test_batch.bin")) {
    return source(read_cifar10(path, split));
  }
  if (has_file(path, "train.bin") || has_file(path, "test.bin")) {
    return source(read_cifar100(path, split));
  }
  return std::make_unique<ImageFolder>(path, split, options.size);
}

}  // namespace kappascope::data
