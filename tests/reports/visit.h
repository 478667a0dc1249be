// SPDX-License-Identifier: Apache-2.0
// A page in headless Chromium, cut off from the network.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/temporary_folder.h"
#include "support/catch.h"
#include "support/files.h"

namespace kappascope::reports {

inline bool has_chromium() {
  if (std::system("command -v chromium > /dev/null 2>&1") == 0) return true;
  WARN("skipped: chromium is not installed (apt-get install chromium)");
  return false;
}

/// Opens page.html of the folder, cut off from the network, with these options more.
inline void run_chromium(const TemporaryFolder& folder,
                         const std::string& options,
                         const std::string& address = "") {
  const std::string command =
      "timeout 120 chromium --headless=new --no-sandbox --disable-gpu "
      "--virtual-time-budget=20000 --host-resolver-rules='MAP * ~NOTFOUND' --user-data-dir=" +
      (folder / "profile").string() + " " + options + " 'file://" +
      (folder / "page.html").string() + address + "' > " + (folder / "dom").string() + " 2> " +
      (folder / "messages").string();
  REQUIRE(std::system(command.c_str()) == 0);
}

struct Visit {
  std::string dom, messages;
};

/// Opens the page with `script` run at its end, which may call unfoldAll(); the DOM after that, and
/// what the console said.
inline Visit visit(const TemporaryFolder& folder,
                   std::string page,
                   const std::string& script = "") {
  const auto at = page.rfind("</body>");
  REQUIRE(at != std::string::npos);
  page.insert(at,
              "<script>const unfoldAll = () => { for (const one of "
              "document.querySelectorAll('details.about')) one.open = true; };"
              "{" +
                  script + "\n}</script>");
  testing::write_bytes(folder / "page.html", page);
  run_chromium(folder, "--enable-logging=stderr --dump-dom", "#dark");
  return {testing::slurp(folder / "dom"), testing::slurp(folder / "messages")};
}

/// How many sheets of A4 the page takes.
inline int printed_sheets(const TemporaryFolder& folder, std::string page) {
  page.insert(page.find("</head>"), "<style>@page { size: A4 }</style>");
  testing::write_bytes(folder / "page.html", page);
  run_chromium(folder, "--print-to-pdf=" + (folder / "page.pdf").string());
  const auto pdf = testing::slurp(folder / "page.pdf");
  const std::string sheet = "/Type /Page\n";
  int sheets = 0;
  for (auto at = pdf.find(sheet); at != std::string::npos; at = pdf.find(sheet, at + 1)) ++sheets;
  REQUIRE(sheets > 0);
  return sheets;
}

}  // namespace kappascope::reports
