// SPDX-License-Identifier: Apache-2.0
#include "cli/watch/server.h"

#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <thread>

#include "core/require.h"
#include "reports/live/live_report.h"

namespace kappascope::cli {
namespace {

using Seconds = std::chrono::duration<double>;

/// Pages that can be open at once; each holds a thread.
constexpr int kMostPages = 24;
/// How often a page is written to at least: that it was closed shows only then.
constexpr Seconds kSignOfLife{10};

std::string new_token() {
  std::array<unsigned char, 16> bytes{};
  require(
      getentropy(bytes.data(), bytes.size()) == 0, "cannot make a token: {}", std::strerror(errno));
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

/// What this thread has used of a processor.
double processor_seconds() {
  struct timespec used {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

/// Takes as long wherever they differ.
bool same_secret(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  int different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different |= a[i] ^ b[i];
  return different == 0;
}

/// Without its port, which differs where it is forwarded through ssh.
bool is_this_machine(const std::string& host) {
  const auto end = host.find_last_of(':');
  const bool has_port = end != std::string::npos && host.find(']', end) == std::string::npos;
  const std::string name = has_port ? host.substr(0, end) : host;
  return name == "127.0.0.1" || name == "localhost" || name == "[::1]";
}

void refuse(httplib::Response& response, int status, const std::string& why) {
  response.status = status;
  response.set_content(why + "\n", "text/plain; charset=utf-8");
}

/// With its length said before, which keeps the library from compressing it.
void send(httplib::Response& response, std::string text, const char* type) {
  const auto content = std::make_shared<const std::string>(std::move(text));
  response.set_content_provider(
      content->size(),
      type,
      [content](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
        return sink.write(content->data() + offset, length);
      });
}

}  // namespace

struct WatchServer::Impl {
  Impl(std::vector<std::filesystem::path> places, const WatchOptions& chosen)
      : options(chosen), token(new_token()), report(std::move(places)) {
    const std::string host = "127.0.0.1";
    server.new_task_queue = [] { return new httplib::ThreadPool(kMostPages + 8); };
    // The library would share the port with whoever has it.
    server.set_socket_options([](socket_t socket) {
      const int on = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
    server.set_keep_alive_max_count(1);
    server.set_tcp_nodelay(true);
    server.set_payload_max_length(0);
    server.set_default_headers({{"Cache-Control", "no-store"},
                                {"Referrer-Policy", "no-referrer"},
                                {"X-Content-Type-Options", "nosniff"},
                                {"X-Frame-Options", "DENY"},
                                {"Cross-Origin-Resource-Policy", "same-origin"}});
    server.set_pre_routing_handler([this](const auto& request, auto& response) {
      return is_allowed(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                           : httplib::Server::HandlerResponse::Handled;
    });
    server.Get("/" + token,
               [this](const auto&, auto& response) { response.set_redirect("/" + token + "/"); });
    server.Get("/" + token + "/", [this](const auto&, auto& response) { send_page(response); });
    server.Get("/" + token + "/events",
               [this](const auto& request, auto& response) { send_events(request, response); });
    port = options.port;
    if (port == 0) {
      port = server.bind_to_any_port(host);
    } else if (!server.bind_to_port(host, port)) {
      port = -1;
    }
    require(port > 0,
            "cannot listen on {}:{}: {}; leave --port out for one that is free",
            host,
            options.port,
            std::strerror(errno));
  }

  bool is_allowed(const httplib::Request& request, httplib::Response& response) const {
    if (request.method != "GET" && request.method != "HEAD") {
      response.set_header("Allow", "GET, HEAD");
      refuse(response, 405, "Nothing can be written here.");
      return false;
    }
    const std::string host = request.get_header_value("Host");
    if (request.get_header_value_count("Host") != 1 || !is_this_machine(host)) {
      refuse(response, 403, "This server answers to 127.0.0.1 and localhost alone.");
      return false;
    }
    if (request.has_header("Origin") && request.get_header_value("Origin") != "http://" + host) {
      refuse(response, 403, "Other pages may not ask here.");
      return false;
    }
    if (!same_secret(request.path.substr(0, token.size() + 2), "/" + token + "/") &&
        !same_secret(request.path, "/" + token)) {
      refuse(response, 403, "The address lacks the token that `kappascope watch` printed.");
      return false;
    }
    return true;
  }

  void send_page(httplib::Response& response) {
    const std::lock_guard lock(mutex);
    if (report.refresh()) news.notify_all();
    send(response, report.page(), "text/html; charset=utf-8");
  }

  void send_events(const httplib::Request& request, httplib::Response& response) {
    // A browser that lost the connection says what it saw last.
    std::string since = request.get_header_value("Last-Event-ID");
    if (since.empty()) since = request.get_param_value("since");
    {
      const std::lock_guard lock(mutex);
      if (pages >= kMostPages) {
        refuse(response, 503, "Too many pages are open.");
        return;
      }
      ++pages;
    }
    news.notify_all();
    response.set_chunked_content_provider(
        "text/event-stream",
        [this, seen = std::uint64_t{std::strtoull(since.c_str(), nullptr, 10)}](
            std::size_t, httplib::DataSink& sink) mutable {
          const std::string message = next_event(seen);
          return !message.empty() && sink.write(message.data(), message.size());
        },
        [this](bool) {
          const std::lock_guard lock(mutex);
          --pages;
        });
  }

  /// Waits for it; a comment where nothing happens, nothing once the server stops.
  std::string next_event(std::uint64_t& seen) {
    std::unique_lock lock(mutex);
    news.wait_for(lock, kSignOfLife, [&] { return stopping || report.version() != seen; });
    if (stopping) return "";
    if (report.version() == seen) return ": nothing new\n\n";
    auto changes = report.changes_since(seen);
    seen = report.version();
    return fmt::format("id: {}\ndata: {}\n\n", seen, changes);
  }

  void poll() {
    std::unique_lock lock(mutex);
    while (!stopping) {
      news.wait(lock, [&] { return stopping || pages > 0; });
      const double begin = processor_seconds();
      if (!stopping && report.refresh()) news.notify_all();
      const Seconds pause(std::max(options.seconds, 2 * (processor_seconds() - begin)));
      news.wait_for(lock, pause, [&] { return stopping; });
    }
  }

  const WatchOptions options;
  const std::string token;
  int port = -1;
  httplib::Server server;

  std::mutex mutex;  // of what stands below
  std::condition_variable news;
  reports::LiveReport report;
  int pages = 0;
  bool stopping = false;
};

WatchServer::WatchServer(std::vector<std::filesystem::path> places, const WatchOptions& options)
    : impl_(std::make_unique<Impl>(std::move(places), options)) {}

WatchServer::~WatchServer() = default;

int WatchServer::port() const {
  return impl_->port;
}

std::string WatchServer::address() const {
  return fmt::format("http://127.0.0.1:{}/{}/", impl_->port, impl_->token);
}

void WatchServer::serve() {
  std::thread polling([this] { impl_->poll(); });
  impl_->server.listen_after_bind();
  stop();
  polling.join();
}

void WatchServer::stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->news.notify_all();
  impl_->server.stop();
}

}  // namespace kappascope::cli
