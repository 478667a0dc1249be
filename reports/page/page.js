// SPDX-License-Identifier: Apache-2.0
// Draws the figures from the JSON in #data as they come into view; before plotly is there, the first screen has a sketch.
// Nothing is fetched; what a served page is sent, live.js puts into the model. The page writes what a test wants to know
// into <html data-...>: figures drawn, errors, resources requested.
"use strict";
(() => {
  const root = document.documentElement;
  const problems = [];
  addEventListener("error", (event) => problems.push(String(event.message)));
  addEventListener("securitypolicyviolation", (event) => problems.push(event.violatedDirective));

  const model = JSON.parse(document.getElementById("data").textContent);
  const layersOf = () => [...new Set(model.figures.flatMap((figure) => figure.panels.flatMap((panel) => panel.layer ?? [])))];
  const leadOf = () => (document.querySelector("#summary + .figure") ? model.figures[0] : null);
  let layers = layersOf();
  const view = { hidden: new Set(), layers: new Set(model.picked.length ? model.picked : layers), zoom: new Map(), lead: leadOf(), isPrinted: false,
    isCompact: (figure) => plotOf(figure).matches(".highlight + .figure .plot") };
  const { tracesOf, layoutOf, panelsOf, sample, csv, colour, shape, style, transparent } = kappascopeFigures(model, view);
  // Going back from a zoom is ours: plotly would go back to the axes of its first drawing.
  const config = { responsive: true, displayModeBar: false, doubleClick: false };
  const plotOf = (figure) => document.getElementById("plot-" + figure.id);
  // `stale` ones are drawn, but not with the points of now; `near` ones are in sight or almost.
  const drawn = new Set(), stale = new Set(), near = new Set();

  // Plotly is in the page as base64 of what gzip made of it, which is less than half as long.
  let plotly = "", unpacking;
  const unpack = () => (unpacking ??= (async () => {
    const packed = atob(document.getElementById("plotly").textContent), bytes = new Uint8Array(packed.length);
    for (let i = 0; i < packed.length; ++i) bytes[i] = packed.charCodeAt(i);
    plotly = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  })());

  // Of its 49 kinds of traces, bars and heat maps are used here beside lines; to start with all of them takes three times
  // as long.
  const isReady = () => typeof Plotly !== "undefined";
  function startPlotly() {
    if (isReady() || !plotly) return;
    const script = document.createElement("script");
    script.textContent = plotly
      .replace(/\.register\(\[(\w+\(\)),\w+\(\),(\w+\(\)),[\w$(),]+\]\)/, ".register([$1,$2])");
    document.head.append(script);
    for (const figure of model.figures) if (waiting(figure) && (figure === view.lead || near.has(figure))) draw(figure);
  }

  function sketchLead() {
    if (!view.lead || isReady()) return;
    kappascopeSketch(plotOf(view.lead), tracesOf(view.lead), layoutOf(view.lead));
    drawKey(view.lead);
  }

  function draw(figure) {
    const div = plotOf(figure);
    if (!drawn.has(figure)) div.querySelector(".sketch")?.remove();
    const first = !drawn.has(figure);
    drawn.add(figure);
    stale.delete(figure);
    Plotly.react(div, tracesOf(figure), layoutOf(figure), config);
    drawKey(figure);
    if (!first) return;
    div.on("plotly_relayout", (change) => keepZoom(figure, change));
    div.on("plotly_doubleclick", () => { view.zoom.delete(figure.id); draw(figure); });
    if (figure.series.some((series) => series.until)) div.on("plotly_click", pickRow);
    report();
  }

  // What is drawn again later, with more points or other colours, shows the same part.
  function keepZoom(figure, change) {
    const axes = plotOf(figure)._fullLayout, shown = panelsOf(figure);
    const zoom = view.zoom.get(figure.id) || { y: new Map() };
    for (const name of new Set(Object.keys(change).flatMap((key) => (key.match(/^([xy]axis\d*)\.range/) || []).slice(1)))) {
      const range = [...axes[name].range];
      if (name[0] === "x") zoom.x = range;
      else zoom.y.set(shown[Number(name.slice(5) || 1) - 1], { range, log: axes[name].type === "log" });
      view.zoom.set(figure.id, zoom);
    }
  }

  // What is out of sight keeps its place and is drawn when it comes near, or when there is time.
  const isShown = (place) => place.offsetParent !== null && !place.closest("details:not([open])");
  const waiting = (figure) => (!drawn.has(figure) || stale.has(figure)) && isShown(plotOf(figure));
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const figure = model.figures.find((one) => plotOf(one) === entry.target);
      if (!figure) continue;
      if (entry.isIntersecting) near.add(figure); else near.delete(figure);
      if (entry.isIntersecting && isReady() && waiting(figure)) draw(figure);
    }
  }, { rootMargin: "400px" });

  function watch(figure) {
    plotOf(figure).style.minHeight = layoutOf(figure).height + "px";
    observer.observe(plotOf(figure));
  }

  function drawWhenIdle() {
    const next = isReady() && model.figures.find((figure) => !drawn.has(figure) && waiting(figure));
    if (!next) return;
    draw(next);
    setTimeout(drawWhenIdle, 30);
  }

  function redraw() {
    for (const figure of drawn) draw(figure);
    sketchLead();
    drawArms();
  }

  function drawAll() {
    startPlotly();
    if (!isReady()) return;
    for (const figure of model.figures) if (waiting(figure)) draw(figure);
  }

  function drawArms() {
    const group = document.getElementById("arms");
    const focused = document.activeElement && document.activeElement.dataset.arm;
    group.replaceChildren(...model.arms.map((label, arm) => {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.arm = String(arm);
      button.setAttribute("aria-pressed", String(!view.hidden.has(arm)));
      button.innerHTML = sample("solid", shape(arm), colour(arm));
      button.append(label);
      button.addEventListener("click", () => toggleArm(arm));
      return button;
    }));
    if (focused !== undefined && focused !== null) group.children[Number(focused)]?.focus();
    drawSwatches();
  }

  function drawSwatches() {
    for (const swatch of document.querySelectorAll(".swatch")) {
      const arm = Number(swatch.dataset.arm);
      swatch.innerHTML = sample("solid", shape(arm), colour(arm));
    }
  }

  // The arms stand in the bar above; a key is needed where one colour has several lines.
  function drawKey(figure) {
    const key = document.querySelector('[data-key="' + figure.id + '"]');
    const kinds = new Map(), kindOf = (series) => series.dash + (series.faint ? " faint" : "");
    // The title of a panel says what faint layers are, and lines of one kind.
    const isTold = (series) => series.layer && series.faint;
    const several = (panel) =>
      new Set(figure.series.filter((one) => one.panel === panel && !isTold(one)).map(kindOf)).size > 1;
    for (const series of figure.series) {
      if (series.points || series.shade || isTold(series) || !several(series.panel)) continue;
      const kind = kindOf(series);
      kinds.set(kind, [...(kinds.get(kind) || []), series]);
    }
    const entry = (picture, words) => {
      const span = document.createElement("span");
      span.innerHTML = picture;
      span.append(words);
      return span;
    };
    const lines = kinds.size < 2 ? [] : [...kinds.values()].map((all) => entry(
      sample(all[0].dash, "", transparent(model.arms.length > 1 ? style("--ink") : colour(0), all[0].faint ? 0.4 : 1)),
      [...new Set(all.map((series) => series.quantity))].join(", ")));
    const marked = (nonFinite) => (figure.marks || []).some((mark) => Boolean(mark.nonFinite) === nonFinite);
    const marks = marked(false) ? [entry('<b aria-hidden="true">▼</b>', "an alarm, on the upper edge")] : [];
    const crosses = marked(true) ? [entry('<b aria-hidden="true">✖</b>', "a number became NaN or infinite")] : [];
    key.replaceChildren(...lines, ...marks, ...crosses);
  }

  function toggleArm(arm) {
    if (!view.hidden.delete(arm)) view.hidden.add(arm);
    for (const figure of drawn) {
      const div = plotOf(figure);
      const mine = div.data.flatMap((trace, i) => (trace.meta === arm ? [i] : []));
      if (mine.length) Plotly.restyle(div, { visible: !view.hidden.has(arm) }, mine);
    }
    sketchLead();
    drawArms();
  }

  function listLayers() {
    if (layers.length < 2) return;
    document.getElementById("layers").hidden = false;
    document.getElementById("layer-list").replaceChildren(...layers.map((layer) => {
      const label = document.createElement("label"), box = document.createElement("input");
      box.type = "checkbox";
      box.checked = view.layers.has(layer);
      box.addEventListener("change", () => pickLayer(layer));
      label.append(box, layer);
      return label;
    }));
  }

  function pickLayer(layer) {
    if (!view.layers.delete(layer)) view.layers.add(layer);
    for (const figure of drawn) if (figure.panels.some((panel) => panel.layer)) draw(figure);
    sketchLead();
    listLayers();
  }

  function pickRow(event) {
    const figure = model.figures.find((one) => one.series.some((series) => series.until));
    const tick = figure.panels[0].y.ticks.find((one) => one[0] === Math.round(event.points[0].y));
    if (tick) pickLayer(tick[1]);
  }

  function setTheme(theme) {
    root.dataset.theme = theme;
    redraw();
  }

  // A closed <details> hides what a link points at: opens them; whether any was closed.
  function unfold(place) {
    let any = false;
    for (let outer = place; outer; outer = outer.parentElement) {
      if (outer.tagName !== "DETAILS" || outer.open) continue;
      outer.open = any = true;
    }
    return any;
  }

  // The claims are a page of their own in this file: the address says which one is shown.
  function showPage() {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const page = target && target.closest("#claims") ? "claims" : "run";
    const changed = root.dataset.page !== page;
    root.dataset.page = page;
    const unfolded = unfold(target);
    if (!changed && !unfolded) return;
    if (target) target.scrollIntoView();
    if (isReady()) setTimeout(drawWhenIdle, 30);
  }

  // The model has changed: `changed` figures have other points, `added` ones are new on the page. One is
  // drawn at a time, between them the page rests twice as long as that took, and while a pointer is
  // down it waits.
  let resting = false, held = false;
  function update(changed, added) {
    view.lead = leadOf();
    const known = layers;
    layers = layersOf();
    const fresh = layers.filter((layer) => !known.includes(layer));
    if (!known.length && model.picked.length) view.layers = new Set(model.picked);
    else if (!model.picked.length) for (const layer of fresh) view.layers.add(layer);
    if (fresh.length) listLayers();
    if ([...document.querySelectorAll("#arms button")].map((button) => button.textContent).join("\n") !== model.arms.join("\n")) drawArms();
    drawSwatches();
    kappascopeTables.refresh();
    for (const figure of added) watch(figure);
    for (const figure of changed) if (drawn.has(figure)) stale.add(figure);
    for (const figure of drawn) if (!model.figures.includes(figure)) drawn.delete(figure);
    sketchLead();
    catchUp();
  }
  function catchUp() {
    const next = isReady() && !resting && !held && model.figures.find((figure) => near.has(figure) && waiting(figure));
    if (!next) return;
    resting = true;
    requestAnimationFrame(() => {
      const begin = performance.now();
      if (!held && plotOf(next)) draw(next);
      setTimeout(() => { resting = false; catchUp(); }, 2 * (performance.now() - begin));
    });
  }
  addEventListener("pointerdown", () => { held = true; });
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { held = false; setTimeout(catchUp, 0); });

  const forced = location.hash === "#dark" || location.hash === "#light" ? location.hash.slice(1) : "";
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = forced;
  const current = () => chosen || (system.matches ? "dark" : "light");
  const report = () => {
    root.dataset.figures = String(model.figures.filter((figure) => plotOf(figure).querySelector("svg.main-svg")).length);
    root.dataset.problems = problems.join("; ");
    root.dataset.requests = String(performance.getEntriesByType("resource").length);
  };

  showPage();
  if (innerWidth < 1088) document.getElementById("contents").open = false;
  setTheme(current());
  listLayers();
  for (const figure of model.figures) watch(figure);
  addEventListener("load", () => {
    report();
    setTimeout(async () => {  // what stands there is shown before
      await unpack().catch((error) => {
        for (const plot of document.querySelectorAll(".plot:empty")) plot.textContent = "This browser cannot draw figures: " + error.message;
      });
      startPlotly();
      setTimeout(drawWhenIdle, 200);
    }, 100);
  });
  addEventListener("hashchange", showPage);
  // The contents list the parts of a topic while it is open.
  addEventListener("toggle", (event) => {
    if (event.target.matches("details.about"))
      document.querySelector('nav a[href="#' + event.target.id + '"]')?.parentElement.classList.toggle("open", event.target.open);
  }, true);
  system.addEventListener("change", () => setTheme(current()));
  document.getElementById("theme").addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    setTheme(chosen);
  });
  for (const [name, isPrinted] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(name, () => {
      view.isPrinted = isPrinted;
      setTheme(isPrinted ? "light" : current());
      if (isPrinted) drawAll();
    });
  }
  addEventListener("scroll", () => {
    const places = [...document.querySelectorAll("nav li a")].map((link) => [link, document.getElementById(link.hash.slice(1))]);
    const passed = places.filter(([, place]) => place && isShown(place.matches("details") ? place.parentElement : place) && place.getBoundingClientRect().top < 120);
    for (const [link] of places) link.removeAttribute("aria-current");
    if (passed.length) passed[passed.length - 1][0].setAttribute("aria-current", "true");
  }, { passive: true });
  addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("a[data-csv]");
    if (!link) return;
    const url = URL.createObjectURL(new Blob([csv(link.dataset.csv)], { type: "text/csv;charset=utf-8" }));
    link.href = url;
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  });
  addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest('a[href^="#"]');
    if (link) unfold(document.getElementById(link.hash.slice(1)));
  });

  window.kappascope = { model, csv, toggleArm, pickLayer, drawAll, panelsOf, unpack, update };
  report();
})();
