// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace kappascope::cli {

struct WatchOptions {
  int port = 0;  ///< of the loopback address; 0: any that is free
  /// How long a row may be stored before it is looked for. A look that finds rows costs more with
  /// the length of a run: the pause after it is at least twice the processor time that it
  /// took.
  double seconds = 0.25;
};

/// Serves the page of reports::LiveReport on 127.0.0.1, and to whoever has it open what was written
/// since, as server-sent events. Runs are looked at only while a page is open.
///
/// Answers nothing but GET and HEAD, of two addresses that begin with a token of 128 random bits;
/// a name of the host other than this machine's own (against DNS rebinding) and another origin are
/// refused. Nothing can be written through it.
class WatchServer {
 public:
  /// Throws where a place is neither a run nor a folder, or the port is taken.
  explicit WatchServer(std::vector<std::filesystem::path> places, const WatchOptions& options = {});
  ~WatchServer();
  WatchServer(const WatchServer&) = delete;
  WatchServer& operator=(const WatchServer&) = delete;

  [[nodiscard]] int port() const;
  /// Where the page is, with the token.
  [[nodiscard]] std::string address() const;
  /// Serves until stop(), which another thread calls.
  void serve();
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kappascope::cli
