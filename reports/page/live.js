// SPDX-License-Identifier: Apache-2.0
// Keeps a served page up to date: what its server sends is put into the model and into the page, which
// page.js then draws. What the reader chose, unfolded or zoomed into stays. A page that is a file has no
// use for it.
"use strict";
(() => {
  const place = document.getElementById("live");
  if (!place) return;
  const { model, update } = window.kappascope;
  const root = document.documentElement;
  const lists = ["x", "y", "shade", "shown", "until", "lower", "upper", "hollow", "notes"];

  // A list that is all alike is sent short: no hollow point, one note for all.
  const full = (series, key, size) => series[key] || (key === "hollow" ? Array(size).fill(0)
    : key === "notes" && "note" in series ? Array(size).fill(series.note) : []);

  // The points from the place `from` on, in place of those that stood there.
  function append(series, from, tail) {
    const size = (tail.x || []).length;
    if (from === 0) {
      for (const key of [...lists, "note"]) delete series[key];
      Object.assign(series, { x: [], y: [] }, tail);
      return;
    }
    const same = "note" in series && (size === 0 || series.note === tail.note);
    const has = (key) => (key === "notes" ? !same && ("note" in series || "notes" in series) : key in series || key in tail);
    for (const key of lists.filter(has))
      series[key] = [...full(series, key, from).slice(0, from), ...full(tail, key, size)];
    if (!same) delete series.note;
  }

  // A new section for an old one: the plot, what was unfolded and where the keyboard is go over. What a
  // topic holds are sections of their own.
  function replaceSection(old, fresh) {
    if (old.matches("details.about")) {
      old.querySelector("summary").innerHTML = fresh.querySelector("summary").innerHTML;
      return;
    }
    const parts = (section, what) => [...section.querySelectorAll(what)];
    const plot = old.querySelector(".plot"), key = old.querySelector(".key");
    if (plot && fresh.querySelector(".plot")) fresh.querySelector(".plot").replaceWith(plot);
    if (key && fresh.querySelector(".key")) fresh.querySelector(".key").replaceWith(key);
    const before = parts(old, "details"), after = parts(fresh, "details");
    if (before.length === after.length) after.forEach((one, i) => { one.open = before[i].open; });
    const reached = "a, summary, .scroll", focus = parts(old, reached).indexOf(document.activeElement);
    old.replaceWith(fresh);
    if (focus >= 0) parts(fresh, reached)[focus]?.focus({ preventScroll: true });
  }

  // A place is the id of a section, after that of the topic that holds it.
  function applySections(page, places, html) {
    const main = document.getElementById(page), glossary = main.querySelector(":scope > #glossary");
    const ids = places && places.map((place) => place.split("/").pop());
    // What could not be drawn before has its id in a list.
    const sectionOf = (id) => main.querySelector([":scope", ":scope > details.about"].map((home) => home + " > #" + CSS.escape(id)).join());
    for (const [id, text] of Object.entries(html)) {
      const old = sectionOf(id);
      if (!old && !(ids && ids.includes(id))) continue;
      const holder = document.createElement("template");
      holder.innerHTML = text;
      const fresh = holder.content.firstElementChild;
      if (old) replaceSection(old, fresh);
      else main.insertBefore(fresh, glossary);
    }
    if (!places) return;
    // The order is that of the list; only what stands elsewhere is moved, out of what goes away too.
    const next = new Map([[main, glossary]]);
    for (const place of [...places].reverse()) {
      const [topic, id] = place.includes("/") ? place.split("/") : ["", place];
      const home = topic ? sectionOf(topic) : main, section = sectionOf(id);
      if (!section || !home) continue;
      const before = next.get(home) || null;
      if (section.parentElement !== home || section.nextElementSibling !== before) home.insertBefore(section, before);
      next.set(home, section);
    }
    for (const one of main.querySelectorAll(":scope > [id], :scope > details.about > [id]"))
      if (one !== glossary && !ids.includes(one.id)) one.remove();
  }

  function applyFigures(change) {
    const known = new Map(model.figures.map((figure) => [figure.id, figure])), changed = [], added = [];
    for (const one of change.figures || []) {
      const id = one.whole ? one.whole.id : one.id, figure = known.get(id);
      if (!figure) {
        known.set(id, one.whole);
        added.push(one.whole);
        continue;
      }
      if (one.whole) Object.assign(figure, one.whole);
      if (one.frame) Object.assign(figure, one.frame, { series: figure.series });
      for (const { series, from, tail } of one.tails || []) append(figure.series[series], from, tail);
      changed.push(figure);
    }
    if (change.drawn) model.figures = change.drawn.map((id) => known.get(id));
    return [changed, added];
  }

  function apply(change) {
    if (change.title !== undefined) {
      document.querySelector("h1").textContent = change.title;
      document.title = change.title + " – Kappascope";
    }
    if (change.note !== undefined) place.querySelector(".runs").innerHTML = change.note;
    if (change.contents !== undefined) document.querySelector("#contents ul").outerHTML = change.contents;
    if (change.arms) model.arms = change.arms;
    if (change.picked) model.picked = change.picked;
    applySections("run", change.run, change.html || {});
    applySections("claims", change.claims, change.html || {});
    update(...applyFigures(change));
  }

  // How long ago, beside the clock of this machine.
  function showAges() {
    for (const time of place.querySelectorAll("time")) {
      const seconds = Math.max(0, Math.round((Date.now() - Date.parse(time.dateTime)) / 1000));
      const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60);
      time.title = time.dateTime;
      time.textContent = hours > 47 ? Math.floor(hours / 24) + " days ago" : hours ? hours + " h " + (minutes % 60) + " min ago"
        : minutes ? minutes + " min ago" : seconds + " s ago";
    }
  }

  function say(state, text) {
    place.dataset.state = state;
    place.querySelector(".link").textContent = text;
  }

  const source = new EventSource("events?since=" + place.dataset.version);
  // Nothing moves under a pointer that is down, and no text goes away while it is selected.
  const waiting = [];
  let held = false;
  function applyWaiting() {
    if (held) return;
    const selected = getSelection().type === "Range" && document.getElementById("run").contains(getSelection().anchorNode);
    if (place.dataset.state === "live") place.querySelector(".link").textContent = selected && waiting.length ? "Waiting while text is selected" : "Live";
    if (selected) return;
    for (const got of waiting.splice(0)) {
      for (const change of got.changes) apply(change);
      root.dataset.version = String(got.version);
    }
    showAges();
  }
  addEventListener("pointerdown", () => { held = true; });
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { held = false; setTimeout(applyWaiting, 0); });
  document.addEventListener("selectionchange", applyWaiting);

  source.addEventListener("open", () => say("live", "Live"));
  source.addEventListener("error", () => say("lost", "Not connected since " + new Date().toLocaleTimeString() +
    ": kappascope watch has ended, or the way to it is cut. What is shown was read before."));
  source.addEventListener("message", (event) => {
    waiting.push(JSON.parse(event.data));
    applyWaiting();
  });
  setInterval(showAges, 1000);
  showAges();
})();
