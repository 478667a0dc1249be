// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <memory>

namespace kappascope::data {

struct ImageShape {
  int64_t channels = 0, height = 0, width = 0;

  [[nodiscard]] int64_t size() const { return channels * height * width; }
  bool operator==(const ImageShape&) const = default;
};

/// Images of one shape, selected by index; read or decoded when they are selected.
class ImageSource {
 public:
  virtual ~ImageSource() = default;
  [[nodiscard]] virtual int64_t size() const = 0;
  [[nodiscard]] virtual ImageShape shape() const = 0;
  /// Labels are 0 ... classes-1; 0 when the images have none.
  [[nodiscard]] virtual int64_t classes() const = 0;
  /// indices: [k] int64 -> [k, channels, height, width], float in [0, 1]. Throws Error naming the
  /// file that cannot be decoded.
  [[nodiscard]] virtual at::Tensor images(const at::Tensor& indices) const = 0;
  /// Says which images will be asked for soon: those that must be decoded are, in another thread.
  virtual void expect(const at::Tensor& /*indices*/) {}
  /// indices: [k] int64 -> [k] int64; undefined when classes() is 0.
  [[nodiscard]] virtual at::Tensor labels(const at::Tensor& indices) const = 0;
};

enum class Split { kTrain, kTest };

struct ImageOptions {
  /// Height and width to which the files of an image folder are scaled (the shorter side) and cut
  /// (the middle); they come in all sizes, so a folder needs one. Other formats have their own.
  int64_t size = 0;
};

/// Opens what lies at `path`, by what it finds there:
///   a file NAME.npy       unsigned bytes [n, h, w], [n, h, w, c] or [n, c, h, w] with c 1 or 3, no
///                         labels; mapped, not read
///   a folder with
///   *-ubyte[.gz]          IDX as of MNIST: train-images-idx3-ubyte, t10k-labels-idx1-ubyte, ...
///   data_batch_*.bin[.gz] CIFAR-10 binary; test images in test_batch.bin
///   train.bin, test.bin   CIFAR-100 binary, by its fine labels
///   PNG, JPEG             CLASS/NAME.png below train/ and test/ (or val/), or in the folder, which
///                         may also be flat (no labels)
/// Where a set has no test part of its own, every tenth image (in the order of the file, or of the
/// sorted names) is held out for it; CelebA's list_eval_partition.txt is followed where it lies
/// beside the images. Throws Error naming the file and what is wrong with it: missing, wrong magic,
/// truncated, counts that differ, empty.
std::unique_ptr<ImageSource> open_images(const std::filesystem::path& path,
                                         Split split,
                                         const ImageOptions& options = {});

}  // namespace kappascope::data
