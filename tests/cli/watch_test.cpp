// SPDX-License-Identifier: Apache-2.0
// The page of runs that are written, over HTTP.
#include <httplib.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/watch/server.h"
#include "core/temporary_folder.h"
#include "kappascope/store/run.h"
#include "support/catch.h"
#include "support/child.h"
#include "support/workplace.h"

using Catch::Contains;
using kappascope::TemporaryFolder;
using kappascope::cli::WatchServer;
using kappascope::testing::Child;
using kappascope::testing::Workplace;
namespace fs = std::filesystem;
namespace store = kappascope::store;

namespace {

constexpr auto kPatience = std::chrono::seconds(60);  // until a test that waits has failed

/// A server that serves.
class Serving {
 public:
  explicit Serving(std::vector<fs::path> places)
      : server_(std::move(places)), thread_([this] { server_.serve(); }) {}
  ~Serving() {
    while (!client().Get("/")) std::this_thread::yield();  // a server cannot stop before it serves
    server_.stop();
    thread_.join();
  }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  [[nodiscard]] httplib::Client client() const {
    return httplib::Client("127.0.0.1", server_.port());
  }
  [[nodiscard]] int port() const { return server_.port(); }
  /// "/TOKEN/"
  [[nodiscard]] std::string path() const {
    const auto address = server_.address();
    return address.substr(address.find('/', 7));
  }
  /// Of one answer; waits for the server's beginning.
  [[nodiscard]] httplib::Response get(const std::string& path,
                                      const httplib::Headers& headers = {}) const {
    auto client = this->client();
    httplib::Result got = client.Get(path, headers);
    for (const auto end = std::chrono::steady_clock::now() + kPatience;
         !got && std::chrono::steady_clock::now() < end;)
      got = client.Get(path, headers);
    REQUIRE(got);
    return *got;
  }

 private:
  WatchServer server_;
  std::thread thread_;
};

/// A page that listens.
class Listener {
 public:
  Listener(const Serving& serving, const std::string& since)
      : client_(serving.client()),
        thread_([this, path = serving.path() + "events?since=" + since] { listen(path); }) {}
  ~Listener() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    client_.stop();
    thread_.join();
  }

  /// Waits until something that was sent holds all of these words; false where it never does.
  bool hears(const std::vector<std::string>& words) {
    std::unique_lock lock(mutex_);
    return news_.wait_for(lock, kPatience, [&] {
      return std::ranges::all_of(
          words, [&](const auto& word) { return text_.find(word) != std::string::npos; });
    });
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  void listen(const std::string& path) {
    while (!client_.Get(path, [this](const char* data, std::size_t size) {
      const std::lock_guard lock(mutex_);
      text_.append(data, size);
      news_.notify_all();
      return !closed_;
    })) {
      const std::lock_guard lock(mutex_);
      if (closed_) return;
    }
  }

  httplib::Client client_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::string text_;
  bool closed_ = false;
  std::thread thread_;
};

store::Snapshot row(std::int64_t step) {
  return {.step = step,
          .scalars = {{.name = "loss/train", .value = 1.0 / static_cast<double>(step + 1)}}};
}

std::string version_of(const std::string& page) {
  const std::string mark = "data-version=\"";
  const auto at = page.find(mark) + mark.size();
  return page.substr(at, page.find('"', at) - at);
}

}  // namespace

TEST_CASE("the page is served under its token, and may load nothing but its own changes") {
  const TemporaryFolder folder;
  store::RunWriter::create(folder / "a", {{"label", "first"}}).write(row(0));
  const Serving serving({folder / "a"});
  const auto page = serving.get(serving.path(), {{"Accept-Encoding", "br, gzip"}});
  CHECK(page.status == 200);
  CHECK(page.get_header_value("Content-Type") == "text/html; charset=utf-8");
  CHECK(page.get_header_value("Cache-Control") == "no-store");
  CHECK(page.get_header_value("Referrer-Policy") == "no-referrer");
  CHECK_FALSE(page.has_header("Content-Encoding"));
  CHECK_THAT(page.body, Contains("first") && Contains("connect-src 'self'"));
  CHECK(serving.path().size() == 34);
  const auto moved = serving.get(serving.path().substr(0, 33));
  CHECK(moved.status == 302);
  CHECK(moved.get_header_value("Location") == serving.path());
  CHECK(serving.get(serving.path() + "run.sqlite").status == 404);
  CHECK(serving.get(serving.path() + "..%2f..%2fetc/passwd").status == 404);
}

TEST_CASE("without the token, from another host or origin, nothing is answered") {
  const TemporaryFolder folder;
  store::RunWriter::create(folder / "a", {{"label", "secret"}});
  const Serving serving({folder / "a"});
  const std::string path = serving.path(), host = "127.0.0.1:" + std::to_string(serving.port());
  std::string other = path;
  other[1] = other[1] == '0' ? '1' : '0';
  for (const std::string& wrong :
       {std::string("/"), other, other + "events", "/x" + path, path.substr(0, 20)}) {
    INFO(wrong);
    const auto got = serving.get(wrong);
    CHECK(got.status == 403);
    CHECK_THAT(got.body, Contains("lacks the token") && !Contains("secret"));
  }
  for (const char* name : {"example.org",
                           "127.0.0.1.example.org",
                           "localhost.",
                           "",
                           "[::1]x",
                           "127.0.0.1@example.org:80"}) {
    INFO(name);
    CHECK(serving.get(path, {{"Host", name}}).status == 403);
  }
  for (const char* name : {"localhost", "localhost:9999", "[::1]:1", "127.0.0.1"}) {
    INFO(name);
    CHECK(serving.get(path, {{"Host", name}}).status == 200);
  }
  CHECK(serving.get(path, {{"Host", host}, {"Host", "example.org"}}).status == 403);
  for (const char* origin :
       {"http://example.org", "null", "https://127.0.0.1", "http://127.0.0.1"}) {
    INFO(origin);
    CHECK(serving.get(path, {{"Host", host}, {"Origin", origin}}).status == 403);
  }
  CHECK(serving.get(path, {{"Host", host}, {"Origin", "http://" + host}}).status == 200);
  httplib::Client elsewhere("127.0.0.2", serving.port());
  CHECK_FALSE(elsewhere.Get(path));
}

TEST_CASE("nothing can be written") {
  const TemporaryFolder folder;
  store::RunWriter::create(folder / "a", {});
  const Serving serving({folder / "a"});
  CHECK(serving.get(serving.path()).status == 200);
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"}) {
    for (const std::string& path : {serving.path(), serving.path() + "events"}) {
      INFO(method << ' ' << path);
      httplib::Request request;
      request.method = method;
      request.path = path;
      auto client = serving.client();
      const auto got = client.send(request);
      if (got) CHECK(got->status >= 400);
    }
  }
  auto client = serving.client();
  const auto head = client.Head(serving.path());
  REQUIRE(head);
  CHECK(head->status == 200);
  CHECK(head->body.empty());
}

TEST_CASE("a request for the events' header ends at once and holds no place of a page") {
  const TemporaryFolder folder;
  store::RunWriter::create(folder / "a", {}).write(row(0));
  const Serving serving({folder / "a"});
  const auto version = version_of(serving.get(serving.path()).body);
  for (int i = 0; i < 40; ++i) {
    auto client = serving.client();
    client.set_read_timeout(kPatience);
    const auto head = client.Head(serving.path() + "events?since=" + version,
                                  httplib::Headers{{"Accept-Encoding", "br, gzip"}});
    REQUIRE(head);
    CHECK(head->status == 200);
    CHECK_FALSE(head->has_header("Content-Encoding"));
    CHECK(head->body.empty());
  }
  Listener listener(serving, "0");
  CHECK(listener.hears({"loss"}));
}

TEST_CASE("each server has a token of its own, which another does not accept") {
  const TemporaryFolder folder;
  store::RunWriter::create(folder / "a", {});
  const Serving one({folder / "a"}), other({folder / "a"});
  CHECK(one.path() != other.path());
  CHECK(one.get(other.path()).status == 403);
  CHECK(other.get(other.path()).status == 200);
}

TEST_CASE("rows arrive at a page that is open, and so does the end of the run") {
  const TemporaryFolder folder;
  auto writer = store::RunWriter::create(folder / "a", {});
  writer.write(row(0));
  const Serving serving({folder / "a"});
  const auto page = serving.get(serving.path()).body;
  Listener listener(serving, version_of(page));
  writer.write(row(1));
  CHECK(listener.hears({"\"from\":1,\"tail\"", "\"x\":[1],\"y\":[0.5]"}));
  writer.write(row(2));
  writer.set_state("finished");
  CHECK(listener.hears({"\"x\":[2]", "finished, step 2"}));
  // Who connects again says what it has: nothing is sent twice.
  const auto at = listener.text().rfind("id: ");
  const std::string last = listener.text().substr(at + 4, listener.text().find('\n', at) - at - 4);
  auto client = serving.client();
  std::string again;
  Listener newer(serving, last);
  { const auto ended = std::move(writer); }
  auto more = store::RunWriter::append(folder / "a");
  more.write({.step = 3, .scalars = {{.name = "loss/train", .value = 0.125}}});
  CHECK(newer.hears({"0.125"}));
  CHECK_THAT(newer.text(), !Contains("\"x\":[1],") && !Contains("\"whole\""));
}

TEST_CASE(
    "a run that is killed is said to be dead with its last sign of life, and goes on when "
    "it is resumed") {
  const TemporaryFolder folder;
  Child child([&] {
    auto writer = store::RunWriter::create(folder / "a", {{"label", "victim"}});
    for (int step = 0; step < 3; ++step) writer.write(row(step));
    std::ofstream(folder / "ready").put('x');
    pause();
    return std::string();
  });
  while (!fs::exists(folder / "ready")) std::this_thread::yield();
  const Serving serving({folder / "a"});
  const auto page = serving.get(serving.path()).body;
  CHECK_THAT(page, Contains("running, step 2,"));
  Listener listener(serving, version_of(page));
  child.kill_and_wait();
  CHECK(listener.hears({"its process is gone; last sign of life at step 2, <time datetime=\\\"" +
                        store::RunReader(folder / "a").last_written()}));
  // The server holds nothing: another writer has the run at once.
  auto writer = store::RunWriter::resume(folder / "a", 0);
  writer.write({.step = 1, .scalars = {{.name = "loss/train", .value = 0.75}}});
  CHECK(listener.hears({"running, step 1,", "\"from\":1,", "\"y\":[0.75]"}));
}

TEST_CASE("a run that begins in a watched folder appears") {
  const TemporaryFolder folder;
  const Serving serving({folder.path()});
  const auto page = serving.get(serving.path()).body;
  CHECK_THAT(page, Contains("No run has been written yet"));
  Listener listener(serving, version_of(page));
  auto writer = store::RunWriter::create(folder / "study/late", {{"label", "late"}});
  writer.write(row(0));
  CHECK(listener.hears({"\"arms\":[\"late\"]", "\"overview\""}));
}

TEST_CASE("watch refuses what it cannot watch, and its help says how to use it over ssh") {
  const Workplace work;
  CHECK(work.run("watch").status == 2);
  const auto missing = work.run("watch missing");
  CHECK(missing.status == 1);
  CHECK_THAT(missing.err, Contains("there is no run and no folder missing"));
  CHECK(work.run("watch . --port 70000").status == 2);
  CHECK_THAT(work.run("watch --help").out, Contains("ssh -N -L"));
  const Serving taken({work.path()});
  const auto clash = work.run("watch . --port " + std::to_string(taken.port()));
  CHECK(clash.status == 1);
  CHECK_THAT(clash.err, Contains("in use"));
}

TEST_CASE("a damaged value is told by the page and the terminal that leave it out") {
  const Workplace work;
  {
    auto writer = store::RunWriter::create(work.path() / "runs/a", {{"label", "first"}});
    for (int step = 0; step < 9; ++step) writer.write(row(step));
    writer.set_state("finished");
  }
  REQUIRE(
      std::system(("sqlite3 '" + work.path().string() +
                   "/runs/a/run.sqlite' \"UPDATE scalars SET value = 2 * value WHERE step = 4\"")
                      .c_str()) == 0);
  const auto drawn = work.run("watch runs --terminal");
  CHECK(drawn.status == 0);
  CHECK_THAT(drawn.out, Contains("1 stored value is damaged and left out"));
  const Serving serving({work.path() / "runs"});
  CHECK_THAT(serving.get(serving.path()).body, Contains("1 stored value is damaged and left out"));
}

TEST_CASE("watch --terminal draws one picture where the output is no terminal") {
  const Workplace work;
  {
    auto writer = store::RunWriter::create(work.path() / "runs/a", {{"label", "first"}});
    for (int step = 0; step < 9; ++step) writer.write(row(step));
    writer.set_state("finished");
  }
  const auto got = work.run("watch runs --terminal");
  CHECK(got.status == 0);
  CHECK_THAT(got.out, Contains("A first: finished, step 8") && Contains("loss (log)"));
  CHECK(work.run("watch runs --terminal --port 8123").status == 2);
}
