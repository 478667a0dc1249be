// SPDX-License-Identifier: Apache-2.0
#include "lab/train/device.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

#include <algorithm>
#include <sstream>

#include "core/require.h"
#include "tensor/cuda_devices.h"

namespace kappascope::train {

void require_device_name(const std::string& name) {
  const std::string numbered = "cuda:";
  const bool known = name == "cpu" || name == "cuda" || name == "auto" ||
                     (name.starts_with(numbered) && name.size() > numbered.size() &&
                      name.size() <= numbered.size() + 2 &&
                      std::all_of(name.begin() + static_cast<std::ptrdiff_t>(numbered.size()),
                                  name.end(),
                                  [](char c) { return c >= '0' && c <= '9'; }));
  if (!known)
    throw UsageError("train.device must be cpu, cuda, cuda:N or auto; got '" + name + "'");
}

c10::Device device_named(const std::string& name) {
  require_device_name(name);
  if (name == "cpu") return {torch::kCPU};
  const auto& [count, missing] = tensor::cuda_devices();
  if (name == "auto" && count == 0) return {torch::kCPU};
  if (count > 0 && (name == "auto" || name == "cuda"))
    return c10::impl::VirtualGuardImpl(torch::kCUDA).getDevice();
  const c10::Device wanted(name == "cuda" ? "cuda:0" : name);
  require(wanted.index() < count,
          "train.device is {}, but {}; use --device cpu, or auto",
          name,
          count > 0         ? fmt::format("there are {} CUDA devices, from cuda:0 on", count)
          : missing.empty() ? std::string("LibTorch finds no CUDA device")
                            : fmt::format("LibTorch's CUDA half is not there ({})", missing));
  return wanted;
}

std::vector<std::string> single_devices(std::int64_t count, const char* visible) {
  std::vector<std::string> out;
  std::istringstream names(visible == nullptr ? "" : visible);
  for (std::string name; static_cast<std::int64_t>(out.size()) < count;) {
    if (visible == nullptr) {
      out.push_back(std::to_string(out.size()));
    } else if (std::getline(names, name, ',')) {
      out.push_back(name);
    } else {
      break;
    }
  }
  return out;
}

}  // namespace kappascope::train
