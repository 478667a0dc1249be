// SPDX-License-Identifier: Apache-2.0
// Draws the figures from the JSON in #data as they come into view, that of the first screen at once. Nothing is fetched;
// what a served page is sent, live.js puts into the model. The page writes what a test wants to know into <html data-...>:
// figures drawn, errors, resources requested.
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
  const figures = kappascopeFigures(model, view), { layoutOf, panelsOf, sample, csv, colour, shape, style, transparent } = figures;
  const plots = kappascopePlots(model, view, figures, { zoomed, picked: pickRow });
  const plotOf = (figure) => document.getElementById("plot-" + figure.id);
  // `stale` ones are drawn, but not with the points of now; `near` ones are in sight or almost.
  const drawn = new Set(), stale = new Set(), near = new Set();

  function draw(figure) {
    plots.draw(plotOf(figure), figure);
    drawn.add(figure);
    stale.delete(figure);
    drawKey(figure);
    const link = document.querySelector("#" + CSS.escape(figure.id) + " .permalink");
    if (link) link.href = addressOf(figure);
    report();
  }

  // What is drawn again later, with more points or other colours, shows the same part; without ranges, all of it.
  function zoomed(figure, x, y) {
    const zoom = view.zoom.get(figure.id) || { y: new Map() };
    if (x) zoom.x = x;
    if (y) zoom.y.set(y.p, y);
    if (x || y) view.zoom.set(figure.id, zoom);
    else view.zoom.delete(figure.id);
    draw(figure);
  }

  // A figure's address says what of it is seen: #ID;steps=FROM-TO;layers=A,B.
  const standard = new Set(view.layers);
  function addressOf(figure) {
    const zoom = view.zoom.get(figure.id), own = figure.panels.some((panel) => panel.layer);
    const same = view.layers.size === standard.size && [...view.layers].every((layer) => standard.has(layer));
    return "#" + figure.id + (zoom && zoom.x ? ";steps=" + zoom.x.map((v) => Number(v.toPrecision(6))).join("~") : "") +
      (own && !same ? ";layers=" + [...view.layers].map(encodeURIComponent).join(",") : "");
  }
  // What somebody cut off or typed is no address: "" of it.
  const decoded = (text) => { try { return decodeURIComponent(text); } catch { return ""; } };
  function goTo([id, ...parts]) {
    const given = Object.fromEntries(parts.map((part) => part.split("=")));
    const range = (given.steps || "").split("~").map(Number), figure = model.figures.find((one) => one.id === id);
    if (figure && range.length === 2 && range[0] < range[1]) view.zoom.set(id, { x: range, y: new Map() });
    const chosen = (given.layers || "").split(",").map(decoded).filter((layer) => layers.includes(layer));
    if (chosen.length) view.layers = new Set(chosen);
    if (!parts.length) return;
    listLayers();
    refresh((one) => one === figure || chosen.length > 0);
  }

  // What is out of sight keeps its place and is drawn when it comes near, or when there is time.
  const isShown = (place) => place.offsetParent !== null && !place.closest("details:not([open])");
  const waiting = (figure) => (!drawn.has(figure) || stale.has(figure)) && isShown(plotOf(figure));
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const figure = model.figures.find((one) => plotOf(one) === entry.target);
      if (!figure) continue;
      if (entry.isIntersecting) near.add(figure); else near.delete(figure);
      if (entry.isIntersecting && waiting(figure)) draw(figure);
    }
  }, { rootMargin: "400px" });

  function watch(figure) {
    plotOf(figure).style.minHeight = layoutOf(figure, plotOf(figure).clientWidth || 900).height + "px";
    observer.observe(plotOf(figure));
  }

  // One after the other, with pauses in which the page answers.
  let nextDrawing;
  function drawWhenIdle(pause = 30) {
    clearTimeout(nextDrawing);
    nextDrawing = setTimeout(() => {
      const next = model.figures.find(waiting);
      if (!next) return;
      draw(next);
      drawWhenIdle();
    }, pause);
  }

  function redraw() {
    refresh(() => true);
    drawArms();
  }

  // Draws those again that `changed` is true of: what is in sight now, the others when there is time.
  function refresh(changed) {
    for (const figure of drawn) if (changed(figure)) stale.add(figure);
    for (const figure of model.figures) if (waiting(figure) && (figure === view.lead || near.has(figure) || view.isPrinted)) draw(figure);
    drawWhenIdle();
  }

  function drawAll() {
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
    for (const mine of document.querySelectorAll('.drawing g[data-arm="' + arm + '"]'))
      mine.setAttribute("display", view.hidden.has(arm) ? "none" : "inline");
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
    refresh((figure) => figure.panels.some((panel) => panel.layer));
    listLayers();
  }

  function pickRow(figure, series) {
    const tick = figure.panels[series.panel].y.ticks.find((one) => one[0] === series.y[0]);
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
    const address = location.hash.slice(1).split(";"), target = address[0] && document.getElementById(decoded(address[0]));
    if (target) goTo(address);
    const page = target && target.closest("#claims") ? "claims" : "run";
    const changed = root.dataset.page !== page;
    root.dataset.page = page;
    const unfolded = unfold(target);
    if (!changed && !unfolded && address.length === 1) return;
    if (target) target.scrollIntoView();
    drawWhenIdle();
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
    catchUp();
  }
  function catchUp() {
    const next = !resting && !held && model.figures.find((figure) => near.has(figure) && waiting(figure));
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
    root.dataset.figures = String(model.figures.filter((figure) => plotOf(figure).querySelector("svg.drawing")).length);
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
    drawWhenIdle(200);  // what stands there is shown before
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width || view.isPrinted) return;
    width = innerWidth;
    requestAnimationFrame(redraw);
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
    const link = event.target.closest && event.target.closest("a[data-csv], a[data-svg]");
    if (!link) return;
    const { csv: numbers, svg } = link.dataset;
    const file = numbers ? new Blob([csv(numbers)], { type: "text/csv;charset=utf-8" })
      : new Blob([plots.picture(document.getElementById("plot-" + svg))], { type: "image/svg+xml" });
    const url = URL.createObjectURL(file);
    link.href = url;
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  });
  addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest('a[href^="#"]');
    if (link) unfold(document.getElementById(link.hash.slice(1)));
  });

  window.kappascope = { model, csv, toggleArm, pickLayer, drawAll, panelsOf, picture: (id) => plots.picture(document.getElementById("plot-" + id)), update };
  report();
})();
