// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "kappascope/core/error.h"
#include "kappascope/tensor/group.h"

namespace kappascope::testing {

/// Threads in the place of processes. One that ends by an exception is lost to the others.
class ThreadGroup final : public tensor::Group {
 public:
  struct Mail {
    std::mutex mutex;
    std::condition_variable arrived;
    std::map<std::pair<int, int>, std::deque<at::Tensor>> letters;
    bool lost = false;
  };

  ThreadGroup(int rank, int size, Mail& mail) : rank_(rank), size_(size), mail_(mail) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }

  void send(const at::Tensor& values, int to) override {
    const std::lock_guard lock(mail_.mutex);
    mail_.letters[{rank_, to}].push_back(values.clone());
    mail_.arrived.notify_all();
  }
  void receive(at::Tensor& values, int from) override {
    std::unique_lock lock(mail_.mutex);
    auto& box = mail_.letters[{from, rank_}];
    mail_.arrived.wait(lock, [&] { return mail_.lost || !box.empty(); });
    if (box.empty()) throw tensor::LostProcess("a thread was lost");
    if (box.front().scalar_type() != values.scalar_type() || box.front().sizes() != values.sizes())
      throw Error("the threads differ in what they call");
    values.copy_(box.front());
    box.pop_front();
  }
  void broadcast(at::Tensor& values) override {
    for (int to = 1; leads() && to < size_; ++to) send(values, to);
    if (!leads()) receive(values, 0);
  }
  void add_up(at::Tensor& values) override {
    if (!leads()) send(values, 0);
    for (int from = 1; leads() && from < size_; ++from) {
      auto theirs = torch::empty_like(values);
      receive(theirs, from);
      values.add_(theirs);
    }
    broadcast(values);
  }

 private:
  int rank_, size_;
  Mail& mail_;
};

/// Runs work(group) in `size` threads, and throws again what ended the first of them.
template <typename Work>
void in_threads(int size, const Work& work) {
  ThreadGroup::Mail mail;
  std::vector<std::exception_ptr> ended(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        work(std::make_shared<ThreadGroup>(rank, size, mail));
      } catch (...) {
        const std::lock_guard lock(mail.mutex);
        ended[static_cast<std::size_t>(rank)] = std::current_exception();
        mail.lost = true;
        mail.arrived.notify_all();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& error : ended) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace kappascope::testing
