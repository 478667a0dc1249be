// SPDX-License-Identifier: Apache-2.0
#include "kappascope/data/image_set.h"

#include <fmt/format.h>
#include <torch/torch.h>
#include <zlib.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kappascope/core/error.h"

namespace kappascope::data {
namespace {

namespace fs = std::filesystem;

struct IdxFile {
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> values;
};

fs::path find_file(const fs::path& dir, const std::string& stem) {
  for (const auto& name : {stem, stem + ".gz"}) {
    if (fs::exists(dir / name)) return dir / name;
  }
  throw Error("cannot find " + (dir / stem).string() +
              " (with or without .gz): pass the folder of an IDX data set with --data; on Debian "
              "`apt-get install dataset-fashion-mnist` puts one into "
              "/usr/share/datasets/fashion-mnist");
}

// zlib's gzread reads plain files as they are, so one path serves both.
class Reader {
 public:
  explicit Reader(const fs::path& path)
      : path_(path.string()), file_(gzopen(path.c_str(), "rb"), gzclose) {
    require(file_ != nullptr, "cannot open ", path_);
    gzbuffer(file_.get(), 1U << 18U);
  }
  void read(std::uint8_t* out, std::size_t bytes) {
    std::size_t done = 0;
    while (done < bytes) {
      const auto chunk = static_cast<unsigned>(std::min<std::size_t>(bytes - done, 1U << 30U));
      const int got = gzread(file_.get(), out + done, chunk);
      if (got <= 0) {
        int code = Z_OK;
        const char* what = gzerror(file_.get(), &code);
        throw Error(fmt::format("{} is truncated or damaged: {} of {} bytes could be read{}",
                                path_,
                                done,
                                bytes,
                                code == Z_OK ? "" : fmt::format(" ({})", what)));
      }
      done += static_cast<std::size_t>(got);
    }
  }
  std::uint32_t read_big_endian() {
    std::uint8_t b[4];
    read(b, 4);
    return (std::uint32_t{b[0]} << 24U) | (std::uint32_t{b[1]} << 16U) |
           (std::uint32_t{b[2]} << 8U) | b[3];
  }
  void expect_end() {
    std::uint8_t extra = 0;
    const int got = gzread(file_.get(), &extra, 1);
    require(got >= 0, path_, " is truncated or damaged: its checksum does not fit");
    require(got == 0, path_, " holds more bytes than its header announces");
  }

 private:
  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

IdxFile read_idx(const fs::path& path, std::uint32_t dimensions) {
  Reader reader(path);
  const std::uint32_t magic = reader.read_big_endian();
  // 0x08 says unsigned bytes, the last byte says how many dimensions follow.
  require(magic == (0x0800U | dimensions),
          path.string(),
          " is not an IDX file of ",
          dimensions,
          "-dimensional bytes: its magic number is ",
          fmt::format("{:#010x}", magic),
          ", expected ",
          fmt::format("{:#010x}", 0x0800U | dimensions));
  IdxFile file;
  std::size_t total = 1;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    file.shape.push_back(reader.read_big_endian());
    const auto extent = static_cast<std::size_t>(file.shape.back());
    require(extent == 0 || total <= (std::size_t{1} << 32U) / extent,
            path.string(),
            " announces an impossible size: it is damaged, or no IDX file");
    total *= extent;
  }
  require(total > 0, path.string(), " is empty: its header announces no values");
  file.values.resize(total);
  reader.read(file.values.data(), total);
  reader.expect_end();
  return file;
}

}  // namespace

ImageSet load_idx(const fs::path& dir, Split split) {
  require(fs::is_directory(dir), "data folder ", dir.string(), " does not exist");
  const std::string prefix = split == Split::kTrain ? "train" : "t10k";
  const auto image_path = find_file(dir, prefix + "-images-idx3-ubyte");
  const auto label_path = find_file(dir, prefix + "-labels-idx1-ubyte");
  const auto images = read_idx(image_path, 3);
  const auto labels = read_idx(label_path, 1);
  require(images.shape[0] == labels.shape[0],
          image_path.string(),
          " holds ",
          images.shape[0],
          " images, but ",
          label_path.string(),
          " holds ",
          labels.shape[0],
          " labels");
  ImageSet set;
  const auto n = images.shape[0];
  set.images = torch::from_blob(const_cast<std::uint8_t*>(images.values.data()),
                                {n, images.shape[1] * images.shape[2]},
                                torch::kUInt8)
                   .to(torch::kFloat)
                   .div_(255);
  set.labels = torch::from_blob(const_cast<std::uint8_t*>(labels.values.data()), {n}, torch::kUInt8)
                   .to(torch::kLong);
  set.classes = set.labels.max().item<int64_t>() + 1;
  return set;
}

}  // namespace kappascope::data
