// SPDX-License-Identifier: Apache-2.0
// Code that runs in a process of its own, so that it can be killed, starved or stripped of rights.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <exception>
#include <stdexcept>
#include <string>

namespace kappascope::testing {

class Child {
 public:
  /// Runs body() and sends the text that it returns, or the message that it throws, to report().
  template <typename Body>
  explicit Child(Body&& body) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("no fork");
    if (pid_ == 0) {
      std::string text;
      try {
        text = body();
      } catch (const std::exception& exception) {
        text = exception.what();
      }
      // No destructor of the parent's objects may run here, hence _exit.
      _exit(::write(ends[1], text.data(), text.size()) < 0 ? 1 : 0);
    }
    ::close(ends[1]);
    output_ = ends[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) kill_and_wait();
    ::close(output_);
  }

  void kill_and_wait() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  /// Waits for the end; what the body returned or threw.
  std::string report() {
    std::string text;
    std::array<char, 4096> part{};
    for (ssize_t size = 0; (size = ::read(output_, part.data(), part.size())) > 0;) {
      text.append(part.data(), static_cast<std::size_t>(size));
    }
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
    return text;
  }

 private:
  pid_t pid_ = 0;
  int output_ = -1;
};

/// Gives up root's right to write everywhere; nothing to do for anybody else.
inline void drop_root() {
  constexpr unsigned kNobody = 65534;
  if (geteuid() != 0) return;
  if (setegid(kNobody) != 0 || seteuid(kNobody) != 0) throw std::runtime_error("still root");
}

}  // namespace kappascope::testing
