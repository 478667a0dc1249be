// SPDX-License-Identifier: Apache-2.0
// The page in headless Chromium, cut off from the network.
#include "kappascope/reports/report.h"
#include "reports/sample_run.h"
#include "reports/visit.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

std::vector<std::filesystem::path> sample_pair(const TemporaryFolder& folder) {
  return {write_sample_run(folder / "a"),
          write_sample_run(folder / "b", {.label = "post-gating bias", .bias = true})};
}

}  // namespace

TEST_CASE("the page draws every figure, asks for nothing and does not complain", "[browser]") {
  if (!has_chromium()) return;
  const TemporaryFolder folder;
  // Four stand on the page: that of the first screen, and those of what stands out. Fourteen more
  // are drawn where their topics are opened; the last is about a document, and drawn where the
  // reader goes there.
  const Visit seen = visit(folder, html_report(sample_pair(folder)), R"js(
    const count = () => document.documentElement.dataset.figures;
    kappascope.drawAll();
    const folded = count();
    unfoldAll();
    kappascope.drawAll();
    document.body.dataset.before = [folded, count()].join();
    location.hash = "#ledger";
    addEventListener("hashchange", () => kappascope.drawAll());
  )js");
  CHECK(seen.dom.find("data-before=\"4,20\"") != std::string::npos);
  CHECK(seen.dom.find("data-page=\"claims\"") != std::string::npos);
  CHECK(seen.dom.find("data-figures=\"21\"") != std::string::npos);
  CHECK(seen.dom.find("data-problems=\"\"") != std::string::npos);
  CHECK(seen.dom.find("data-requests=\"0\"") != std::string::npos);
  CHECK(seen.dom.find("data-theme=\"dark\"") != std::string::npos);
  CHECK(seen.messages.find("CONSOLE") == std::string::npos);
  for (const char* expected : {"post-gating bias", "κ(Σ+(μ+b)(μ+b)ᵀ)", "class=\"drawing\""}) {
    INFO(expected);
    CHECK(seen.dom.find(expected) != std::string::npos);
  }
}

TEST_CASE("a link or an address opens the topic of what it points at", "[browser]") {
  if (!has_chromium()) return;
  const TemporaryFolder folder;
  const Visit seen = visit(folder, html_report(sample_pair(folder)), R"js(
    const isOpen = (id) => document.getElementById(id).open;
    const topics = [...document.querySelectorAll("details.about")];
    const closed = topics.every((one) => !one.open);
    document.querySelector('nav a[href="#layers-table"]').click();
    const clicked = isOpen("about-layers");
    location.hash = "#estimates";
    addEventListener("hashchange", () => setTimeout(() => {
      const listed = document.querySelector('nav a[href="#estimates"]').offsetParent !== null;
      document.body.dataset.topics = [topics.length > 4, closed, clicked, isOpen("about-numbers"), listed,
        isOpen("about-mean")].join();
    }, 50));
  )js");
  CHECK(seen.dom.find("data-topics=\"true,true,true,true,true,false\"") != std::string::npos);
  CHECK(seen.dom.find("data-problems=\"\"") != std::string::npos);
}

TEST_CASE("a complaint of the page would be seen", "[browser]") {
  if (!has_chromium()) return;
  const TemporaryFolder folder;
  const Visit seen = visit(folder,
                           html_report({write_sample_run(folder / "a")}),
                           "new Image().src = 'https://example.org/x.png'; undefinedName();");
  CHECK(seen.messages.find("CONSOLE") != std::string::npos);
  CHECK(seen.dom.find("data-problems=\"\"") == std::string::npos);
}

TEST_CASE("a click on an arm hides it in every figure, and a second one brings it back",
          "[browser]") {
  if (!has_chromium()) return;
  const TemporaryFolder folder;
  const Visit seen = visit(folder, html_report(sample_pair(folder)), R"js(
    kappascope.drawAll();
    const shown = () => [0, 1].map((arm) => [...document.querySelectorAll('.drawing g[data-arm="' + arm + '"]')]
      .filter((one) => getComputedStyle(one).display !== "none").length);
    const before = shown();
    document.querySelector('#arms button[data-arm="1"]').click();
    const during = shown();
    const pressed = document.querySelector('#arms button[data-arm="1"]').getAttribute("aria-pressed");
    document.getElementById("theme").click();
    kappascope.drawAll();
    const again = shown();
    document.querySelector('#arms button[data-arm="1"]').click();
    const after = shown();
    document.body.dataset.click = [before[0] === during[0], during[1], pressed, again[1], String(after) === String(before)].join();
  )js");
  CHECK(seen.dom.find("data-click=\"true,0,false,0,true\"") != std::string::npos);
}

TEST_CASE("the first screen's figure is drawn before the page has loaded", "[browser]") {
  if (!has_chromium()) return;
  const TemporaryFolder folder;
  const Visit seen = visit(folder, html_report(sample_pair(folder)), R"js(
    const plot = document.getElementById("plot-overview");
    const count = (what) => [...plot.querySelectorAll("g[data-series] " + what)]
      .filter((one) => getComputedStyle(one.closest("g")).display !== "none").length;
    const seen = [document.readyState];
    const look = () => seen.push(count("path.line"), count("path.band"));
    look();
    document.querySelector('#arms button[data-arm="1"]').click();
    look();
    document.body.dataset.first = seen.join();
  )js");
  // An arm has the losses of training and test, a kappa and a share of the limit with their bands,
  // and a rate; the second its loss over the first's too.
  CHECK(seen.dom.find("data-first=\"loading,11,4,5,2\"") != std::string::npos);
}

TEST_CASE("the pointer is answered with the nearest number, and a drag zooms", "[browser]") {
  if (!has_chromium()) return;
  const TemporaryFolder folder;
  const Visit seen = visit(folder, html_report(sample_pair(folder)), R"js(
    const plot = document.getElementById("plot-overview"), tip = () => plot.querySelector(".tip");
    const frame = () => plot.layout.frames[0];
    plot.setPointerCapture = plot.releasePointerCapture = () => {};  // no pointer is really down
    const send = (kind, x, y) => {
      const box = plot.querySelector("svg.drawing").getBoundingClientRect();
      plot.querySelector('.area[data-frame="0"]').dispatchEvent(new PointerEvent(kind,
        { bubbles: true, clientX: box.left + x, clientY: box.top + y, button: 0, pointerId: 1, pointerType: "mouse" }));
    };
    const series = plot.figure.series.find((one) => one.panel === frame().p && !one.faint);
    const i = series.x.length - 1, x = frame().x.place(series.x[i]), y = frame().y.place(series.y[i]);
    send("pointermove", x, y);
    const words = tip().textContent, cursor = plot.querySelector(".cursor").getAttribute("d").split("M").length - 1;
    const all = frame().x.range.slice(), middle = (frame().y.from + frame().y.to) / 2;
    const drag = (from, to) => { send("pointerdown", from, middle); send("pointermove", to, middle); send("pointerup", to, middle); };
    drag(frame().x.from + 100, frame().x.from + 300);
    const zoom = frame().x.range.slice();
    plot.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
    document.body.dataset.pointer = [!words.includes("not available") && words.includes("step " + series.x[i]),
      words.includes(kappascope.model.arms[series.arm]), cursor === plot.layout.frames.length,
      zoom[0] > all[0] && zoom[1] < all[1] && zoom[0] < zoom[1], String(frame().x.range) === String(all)].join();
  )js");
  CHECK(seen.dom.find("data-pointer=\"true,true,true,true,true\"") != std::string::npos);
  CHECK(seen.dom.find("data-problems=\"\"") != std::string::npos);
}

TEST_CASE("the answers are copied as Markdown in which a name is text", "[browser]") {
  if (!has_chromium()) return;
  const TemporaryFolder folder;
  const auto run = write_sample_run(folder / "a", {.label = "[x](y) <b>"});
  const auto other = write_sample_run(folder / "b", {.bias = true});
  const Visit seen = visit(folder, html_report({run, other}), R"js(
    const text = kappascopeAnswers.markdown();
    let copied = "";
    Object.defineProperty(navigator, "clipboard", { value: { writeText: async (it) => { copied = it; } } });
    document.getElementById("copy").click();
    const lines = text.split("\n").filter((line) => line.startsWith("- "));
    document.body.dataset.copy = [lines.length, copied === text, text.includes("\\[x\\](y) \\<b\\>"),
      lines.every((line) => / \*\*[^*]+\*\*/.test(line))].join();
  )js");
  CHECK(seen.dom.find("data-copy=\"5,true,true,true\"") != std::string::npos);
  CHECK(seen.dom.find("data-problems=\"\"") != std::string::npos);
}

TEST_CASE("the data behind a figure is CSV with every point", "[browser]") {
  if (!has_chromium()) return;
  const TemporaryFolder folder;
  const auto run =
      write_sample_run(folder / "a", {.label = "say \"a,b\"", .bias = true, .layer_suffix = "\n"});
  const Visit seen = visit(folder, html_report({run}), R"js(
    const csv = window.kappascope.csv("kappa_layers");
    const link = document.querySelector('a[data-csv="kappa_layers"]');
    link.addEventListener("click", (event) => event.preventDefault());
    link.click();
    document.body.dataset.csv = [csv.split("\r\n").length, csv.includes('"say ""a,b"""'),
      csv.includes(",inf,"), csv.includes(",no,"), link.href.startsWith("blob:")].join();
  )js");
  // 9 series of 20 points, a header, and the empty end of the last line.
  CHECK(seen.dom.find("data-csv=\"182,true,true,true,true\"") != std::string::npos);
  const auto formula = write_sample_run(folder / "b", {.label = "=1+1"});
  const Visit text = visit(folder, html_report({formula}), R"js(
    document.body.dataset.csv = window.kappascope.csv("kappa_layers").includes("\r\n'=1+1,");
  )js");
  CHECK(text.dom.find("data-csv=\"true\"") != std::string::npos);
}

TEST_CASE("on paper it takes two sheets: the first screen, and what stands out", "[browser]") {
  if (!has_chromium()) return;
  const TemporaryFolder folder;
  std::vector<std::filesystem::path> runs;
  for (int arm = 0; arm < 8; ++arm) {
    const auto label = "arm " + std::to_string(arm);
    runs.push_back(write_sample_run(folder / label, {.label = label, .bias = arm % 2 == 1}));
  }
  CHECK(printed_sheets(folder, html_report({runs[0], runs[1]})) == 2);
  CHECK(printed_sheets(folder, html_report(runs)) == 2);
}

TEST_CASE("a picture carries its data, and an address what is seen of a figure", "[browser]") {
  if (!has_chromium()) return;
  const TemporaryFolder folder;
  const auto run = write_sample_run(folder / "a", {.hessian = false, .layers = 36});
  const Visit seen = visit(folder, html_report({run}), R"js(
    unfoldAll();
    const last = "blocks.7.down_proj", id = "kappa_layers", plot = document.getElementById("plot-" + id);
    location.hash = "#" + id + ";steps=200~900;layers=" + last;
    addEventListener("hashchange", () => {
      kappascope.drawAll();
      const file = new DOMParser().parseFromString(kappascope.picture(id), "image/svg+xml");
      document.body.dataset.picture = [plot.layout.frames.length, plot.layout.frames[0].x.range.join(), plot.layout.frames[0].panel.layer === last,
        document.querySelector("#" + id + " .permalink").hash === location.hash, file.documentElement.localName,
        file.querySelector("metadata").textContent === kappascope.csv(id).replace(/\r/g, ""), file.querySelectorAll("path.line").length].join();
    });
  )js");
  CHECK(seen.dom.find("data-picture=\"1,200,900,true,true,svg,true,2\"") != std::string::npos);
  CHECK(seen.dom.find("data-problems=\"\"") != std::string::npos);
}

TEST_CASE("of many layers three are drawn, and a click shows another", "[browser]") {
  if (!has_chromium()) return;
  const TemporaryFolder folder;
  const auto run = write_sample_run(folder / "a", {.hessian = false, .layers = 36});
  const Visit seen = visit(folder, html_report({run}), R"js(
    unfoldAll();
    kappascope.drawAll();
    const count = (what) => document.querySelectorAll("#plot-kappa_layers " + what).length;
    const before = [count("path.line"), count("path.band")];
    document.querySelector("#layer-list input:not(:checked)").click();
    kappascope.drawAll();
    const rows = [...document.querySelectorAll("#plot-kappa_map g[data-series]")];
    document.body.dataset.layers = [...before, count("path.line"), rows.length, rows.every((row) => row.querySelector("path"))].join();
  )js");
  // Lines and bands with the mean and without it; the map has a row a layer.
  CHECK(seen.dom.find("data-layers=\"6,6,8,36,true\"") != std::string::npos);
  CHECK(seen.dom.find("data-problems=\"\"") != std::string::npos);
}

TEST_CASE("the header is one line however many runs there are, grouped or not", "[browser]") {
  if (!has_chromium()) return;
  const TemporaryFolder folder;
  const auto many = write_many_runs(folder / "many");
  std::vector<std::filesystem::path> apart;  // a label each: nothing to group
  for (int i = 0; i < 65; ++i)
    apart.push_back(write_sample_run(folder / ("x" + std::to_string(i)),
                                     {.label = "a variant called " + std::to_string(i),
                                      .spectrum = false,
                                      .hessian = false,
                                      .steps = 40,
                                      .layers = 1}));
  const std::string measure = R"js(
    const buttons = [...document.querySelectorAll("#arms button")];
    document.body.dataset.header = [document.querySelector("header").getBoundingClientRect().height < 60,
      new Set(buttons.map((button) => button.offsetTop)).size === 1 && buttons.length,
      document.documentElement.scrollWidth <= innerWidth].join();
  )js";
  const auto header = [&](const std::vector<std::filesystem::path>& runs) {
    const auto seen = visit(folder, html_report(runs), measure).dom;
    const auto begin = seen.find("data-header=");
    return seen.substr(begin, seen.find('"', begin + 13) + 1 - begin);
  };
  CHECK(header({many[0]}) == "data-header=\"true,1,true\"");
  CHECK(header({apart.begin(), apart.begin() + 8}) == "data-header=\"true,8,true\"");
  CHECK(header(apart) == "data-header=\"true,65,true\"");
  CHECK(header({folder / "many"}) == "data-header=\"true,13,true\"");
}

TEST_CASE("the table of runs is filtered by what is typed and sorted by a click", "[browser]") {
  if (!has_chromium()) return;
  const TemporaryFolder folder;
  write_many_runs(folder / "many");
  const Visit seen = visit(folder, html_report({folder / "many"}), R"js(
    const table = document.querySelector("#runs-table table"), input = document.querySelector("#runs-table input");
    const shown = () => [...table.tBodies[0].rows].filter((row) => !row.hidden);
    const losses = () => shown().map((row) => parseFloat(row.cells[3].dataset.value));
    const type = (text) => { input.value = text; input.dispatchEvent(new Event("input", { bubbles: true })); };
    const rising = (values) => values.every((value, i) => i === 0 || values[i - 1] <= value);
    const counts = [shown().length];
    type("0.003 POST-gating");
    counts.push(shown().length);
    const head = table.tHead.rows[0].cells[3];
    head.querySelector("button").click();
    const first = rising(losses()), told = head.getAttribute("aria-sort");
    head.querySelector("button").click();
    const second = rising(losses().reverse());
    type("");
    counts.push(shown().length);
    type("nothing like it");
    counts.push(shown().length);
    document.body.dataset.table = [...counts, first, told, second].join();
  )js");
  // Of seven rates and two arms one is of five seeds.
  CHECK(seen.dom.find("data-table=\"65,5,65,0,true,ascending,true\"") != std::string::npos);
  CHECK(seen.dom.find("data-problems=\"\"") != std::string::npos);
}

#ifdef KAPPASCOPE_AXE_JS
TEST_CASE("axe-core finds nothing serious, light or dark, on either page", "[browser]") {
  if (!has_chromium()) return;
  const TemporaryFolder folder;
  const std::string check = testing::slurp(KAPPASCOPE_AXE_JS) + R"js(
    const serious = [];
    const look = async () => {
      unfoldAll();
    kappascope.drawAll();
      for (const one of (await axe.run()).violations)
        if (["serious", "critical"].includes(one.impact)) serious.push(one.id + " at " + one.nodes[0].html);
    };
    (async () => {
      await look();
      document.getElementById("theme").click();
      await look();
      location.hash = "#ledger";
      await new Promise((done) => setTimeout(done, 100));
      await look();
      document.body.dataset.serious = serious.join("; ");
    })();
  )js";
  auto page = html_report(sample_pair(folder));
  const Visit seen = visit(folder, page, check);
  INFO(seen.dom.substr(seen.dom.find("data-serious"), 400));
  CHECK(seen.dom.find("data-serious=\"\"") != std::string::npos);
  // A picture without a name would be found.
  page.insert(page.rfind("</body>"), "<img src=\"data:,\">");
  CHECK(visit(folder, page, check).dom.find("data-serious=\"image-alt") != std::string::npos);
}
#endif

TEST_CASE("hostile names run nothing in the browser", "[browser]") {
  if (!has_chromium()) return;
  const TemporaryFolder folder;
  const std::string evil =
      "</script><img src=x onerror=\"document.body.dataset.owned=1\"><b>&amp;%{x}";
  const auto run =
      write_sample_run(folder / "a", {.label = evil, .bias = true, .layer_suffix = evil});
  const Visit seen = visit(folder, html_report({run}), R"js(
    unfoldAll();
    kappascope.drawAll();
    const titles = [...document.querySelectorAll(".drawing .title")];
    document.body.dataset.name = String(titles.some((title) => title.textContent.includes("<b>&amp;%{x}")));
    document.body.dataset.arm = String(document.querySelector("#arms button").textContent.includes("<img src=x"));
  )js");
  CHECK(seen.dom.find("data-owned") == std::string::npos);
  CHECK(seen.dom.find("data-name=\"true\"") != std::string::npos);
  CHECK(seen.dom.find("data-arm=\"true\"") != std::string::npos);
  CHECK(seen.dom.find("data-problems=\"\"") != std::string::npos);
}

}  // namespace kappascope::reports
