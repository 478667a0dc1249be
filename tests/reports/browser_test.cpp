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
  // Four stand on the page: that of the first screen, and those of what stands out. Thirteen more
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
  CHECK(seen.dom.find("data-before=\"4,17\"") != std::string::npos);
  CHECK(seen.dom.find("data-page=\"claims\"") != std::string::npos);
  CHECK(seen.dom.find("data-figures=\"18\"") != std::string::npos);
  CHECK(seen.dom.find("data-problems=\"\"") != std::string::npos);
  CHECK(seen.dom.find("data-requests=\"0\"") != std::string::npos);
  CHECK(seen.dom.find("data-theme=\"dark\"") != std::string::npos);
  CHECK(seen.messages.find("CONSOLE") == std::string::npos);
  for (const char* expected : {"post-gating bias", "κ(Σ+(μ+b)(μ+b)ᵀ)", "data-unformatted"}) {
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
    const shown = () => [0, 1].map((arm) => [...document.querySelectorAll(".plot")]
      .flatMap((plot) => plot.data ?? []).filter((trace) => trace.meta === arm && trace.visible !== false).length);
    const before = shown();
    document.querySelector('#arms button[data-arm="1"]').click();
    const during = shown();
    const pressed = document.querySelector('#arms button[data-arm="1"]').getAttribute("aria-pressed");
    document.querySelector('#arms button[data-arm="1"]').click();
    const after = shown();
    document.body.dataset.click = [before[0] === during[0], during[1], pressed, String(after) === String(before)].join();
  )js");
  CHECK(seen.dom.find("data-click=\"true,0,false,true\"") != std::string::npos);
}

TEST_CASE("the first screen shows a sketch of its figure until plotly has started", "[browser]") {
  if (!has_chromium()) return;
  const TemporaryFolder folder;
  const Visit seen = visit(folder, html_report(sample_pair(folder)), R"js(
    const plot = document.getElementById("plot-overview");
    const lines = () => plot.querySelectorAll(".sketch .area path").length;
    const arm = () => document.querySelector('#arms button[data-arm="1"]').click();
    const before = [typeof Plotly, lines()];
    arm();
    before.push(lines());
    arm();
    before.push(lines());
    kappascope.drawAll();
    const kinds = Object.keys(Plotly.PlotSchema.get().traces).sort().join("+");
    document.body.dataset.sketch = [...before, plot.querySelectorAll(".sketch").length,
      plot.querySelectorAll("svg.main-svg").length > 0, kinds].join();
  )js");
  // An arm has the losses of training and test, a kappa and a share of the limit with their bands,
  // and a rate; the second its loss over the first's too. Of plotly's traces those that the figures
  // use are registered, which is how it starts in a third of the time.
  CHECK(seen.dom.find("data-sketch=\"undefined,15,7,15,0,true,bar+heatmap+scatter\"") !=
        std::string::npos);
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
    const csv = window.kappascope.csv("condition_numbers");
    const link = document.querySelector('a[data-csv="condition_numbers"]');
    link.addEventListener("click", (event) => event.preventDefault());
    link.click();
    document.body.dataset.csv = [csv.split("\r\n").length, csv.includes('"say ""a,b"""'),
      csv.includes(",inf,"), csv.includes(",no,"), link.href.startsWith("blob:")].join();
  )js");
  // 9 series of 20 points, a header, and the empty end of the last line.
  CHECK(seen.dom.find("data-csv=\"182,true,true,true,true\"") != std::string::npos);
}

TEST_CASE("of many layers three are drawn, and a click shows another", "[browser]") {
  if (!has_chromium()) return;
  const TemporaryFolder folder;
  const auto run = write_sample_run(folder / "a", {.hessian = false, .layers = 36});
  const Visit seen = visit(folder, html_report({run}), R"js(
    unfoldAll();
    kappascope.drawAll();
    const count = () => document.getElementById("plot-kappa_layers").data.length / 2;
    const before = count();
    document.querySelector("#layer-list input:not(:checked)").click();
    const map = document.getElementById("plot-kappa_map").data;
    document.body.dataset.layers = [before, count(), map.length, map[0].type, map[0].z.length].join();
  )js");
  // Two traces a layer: its line and its band. The map is one image of 36 rows.
  CHECK(seen.dom.find("data-layers=\"3,4,1,heatmap,36\"") != std::string::npos);
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
  const std::string check = read_file(KAPPASCOPE_AXE_JS) + R"js(
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
    const titles = [...document.querySelectorAll(".plot .annotation-text, .plot .annotation")];
    document.body.dataset.name = String(titles.some((title) => title.textContent.includes("<b>&amp;%{x}")));
    document.body.dataset.arm = String(document.querySelector("#arms button").textContent.includes("<img src=x"));
  )js");
  CHECK(seen.dom.find("data-owned") == std::string::npos);
  CHECK(seen.dom.find("data-name=\"true\"") != std::string::npos);
  CHECK(seen.dom.find("data-arm=\"true\"") != std::string::npos);
  CHECK(seen.dom.find("data-problems=\"\"") != std::string::npos);
}

}  // namespace kappascope::reports
