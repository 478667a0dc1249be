// SPDX-License-Identifier: Apache-2.0
#include <torch/types.h>

#include <functional>
#include <utility>
#include <vector>

#include "kappascope/tensor/group.h"

#if __has_include(<torch/csrc/distributed/c10d/GroupRegistry.hpp>)
#define KAPPASCOPE_C10D
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

namespace kappascope::tensor {

#ifdef KAPPASCOPE_C10D
namespace {

/// What `call` returns; LostProcess where it fails.
template <typename Call>
auto named(const Call& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    const auto* known = dynamic_cast<const c10::Error*>(&error);
    throw LostProcess(std::string("the processes lost each other: ") +
                      (known != nullptr ? known->what_without_backtrace() : error.what()));
  }
}

class ProcessGroup final : public Group {
 public:
  explicit ProcessGroup(c10::intrusive_ptr<c10d::ProcessGroup> group) : group_(std::move(group)) {}
  [[nodiscard]] int rank() const override { return group_->getRank(); }
  [[nodiscard]] int size() const override { return group_->getSize(); }

  void send(const at::Tensor& values, int to) override {
    run([&](auto& tensors) { return group_->send(tensors, to, /*tag=*/0); }, values);
  }
  void receive(at::Tensor& values, int from) override {
    run([&](auto& tensors) { return group_->recv(tensors, from, /*tag=*/0); }, values);
  }
  void broadcast(at::Tensor& values) override {
    run([&](auto& tensors) { return group_->broadcast(tensors); }, values);
  }
  void add_up(at::Tensor& values) override {
    run([&](auto& tensors) { return group_->allreduce(tensors); }, values);
  }
  std::function<void()> begin_add_up(std::vector<at::Tensor> values) override {
    return named([&]() -> std::function<void()> {
      return [work = group_->allreduce_coalesced(values)] { named([&] { work->wait(); }); };
    });
  }

 private:
  template <typename Call>
  void run(const Call& call, const at::Tensor& values) {
    std::vector<at::Tensor> tensors = {values};
    named([&] { call(tensors)->wait(); });
  }

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
};

}  // namespace

std::shared_ptr<Group> process_group(const std::string& name) {
  try {
    return std::make_shared<ProcessGroup>(c10d::resolve_process_group(name));
  } catch (const c10::Error& error) {
    throw Error("there is no process group " + name + ": " + error.what_without_backtrace());
  }
}
#else
std::shared_ptr<Group> process_group(const std::string& name) {
  throw Error("there is no process group " + name + ": this LibTorch has no process groups");
}
#endif

}  // namespace kappascope::tensor
