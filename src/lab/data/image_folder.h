// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/data/images.h"
#include "lab/data/read_ahead.h"

namespace kappascope::data {

/// PNG and JPEG files, decoded when they are asked for.
class ImageFolder final : public ImageSource {
 public:
  /// Throws Error when there are none, or when `size` is not given.
  ImageFolder(const std::filesystem::path& dir, Split split, int64_t size);

  [[nodiscard]] int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  [[nodiscard]] ImageShape shape() const override { return {3, size_, size_}; }
  [[nodiscard]] int64_t classes() const override { return classes_; }
  [[nodiscard]] at::Tensor images(const at::Tensor& indices) const override;
  void expect(const at::Tensor& indices) override { ahead_.begin(indices); }
  [[nodiscard]] at::Tensor labels(const at::Tensor& indices) const override;

 private:
  struct File {
    std::filesystem::path path;
    int64_t label = 0;
  };

  [[nodiscard]] at::Tensor decoded(const at::Tensor& indices) const;
  void hold_out(const std::filesystem::path& dir, bool testing);

  std::vector<File> files_;
  int64_t size_, classes_ = 0;
  ReadAhead ahead_{[this](const at::Tensor& indices) { return decoded(indices); }};
};

}  // namespace kappascope::data
