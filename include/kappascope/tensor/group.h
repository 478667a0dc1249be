// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kappascope/core/error.h"

namespace kappascope::tensor {

/// Another process of a group is gone: nothing that needs it can go on.
class LostProcess : public Error {
  using Error::Error;
};

/// Processes that train one model together, each on its part of the data. Every call but send() and
/// receive() is collective: each process makes it, in the same order. A process that is lost ends
/// the calls of the others with LostProcess.
class Group {
 public:
  virtual ~Group() = default;
  [[nodiscard]] virtual int rank() const = 0;  ///< 0 to size() - 1
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] bool leads() const { return rank() == 0; }

  /// Tensors on the host, contiguous, of the same type and shape on both sides; `values` is
  /// overwritten where it receives.
  virtual void send(const at::Tensor& values, int to) = 0;
  virtual void receive(at::Tensor& values, int from) = 0;
  /// Those of process 0, to all.
  virtual void broadcast(at::Tensor& values) = 0;
  /// Their sum over the processes, of the same bits in each. On the host, or on a device for which
  /// the group has a backend.
  virtual void add_up(at::Tensor& values) = 0;
  /// Begins to add up these tensors of one type and device, which nobody else touches until the
  /// function that it returns has waited for the sums. Here they are there at once.
  [[nodiscard]] virtual std::function<void()> begin_add_up(std::vector<at::Tensor> values);

  /// The bytes go once the other process has room for them. Where it has none, receive_bytes()
  /// throws Error there, and send_bytes() returns: nobody waits.
  void send_bytes(const std::string& bytes, int to);
  [[nodiscard]] std::string receive_bytes(int from);
  /// Those that process 0 gives.
  [[nodiscard]] std::string broadcast_bytes(const std::string& bytes);
  /// The names (lines of text) that any process gives.
  [[nodiscard]] std::set<std::string> all_names(const std::set<std::string>& mine);
};

/// Does `work` in process 0, or here where there is no group. Where it throws, all processes throw
/// (collective): process 0 what it threw, the others an Error of the same words.
void in_leader(Group* group, const std::function<void()>& work);

/// The process group of torch.distributed (or c10d) that is registered under this name. It must
/// have a backend for the host (Gloo) and, where gradients are on devices, one for those (NCCL).
/// Throws Error where there is none, or LibTorch was built without it.
std::shared_ptr<Group> process_group(const std::string& name);

}  // namespace kappascope::tensor
