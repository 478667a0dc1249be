// SPDX-License-Identifier: Apache-2.0
// What the figure model means: where its panels, axes and values stand in pixels, in words, as a legend and as CSV; plot.js
// draws it. `view` is what the reader chose: `hidden` arms, `layers` that are shown, the `zoom` of a figure; `lead` is the
// figure of the first screen, which is lower.
"use strict";
const kappascopeFigures = (model, view) => {
  const root = document.documentElement;
  const filled = ["circle", "square", "diamond", "triangle-down", "pentagon", "star"];
  const kRow = 150, kCompactRow = 110, kPrintedLead = 64, kPrintedRow = 54, kPrintedGap = 27, kLeadRow = document.getElementById("live") ? 106 : 118;
  const kGap = 54, kStackGap = 32, kColumnGap = 58, kNarrowest = 180, kFewTicks = 4, kTicks = 6, kTop = 24, kBottom = 46, kLeft = 84, kRight = 14;
  const kTickRoom = 17, kLetter = 6.6, kSpare = 12;  // height of a tick's words, mean width of one of their letters, what a name may reach over
  const colour = (arm) => {
    const list = root.dataset.theme === "dark" ? model.dark : model.light;
    return list[arm % list.length];
  };
  const transparent = (hex, alpha) =>
    "rgba(" + [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)).join(",") + "," + alpha + ")";
  const shape = (arm) => filled[(arm + Math.floor(arm / model.light.length)) % filled.length];
  const style = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  const number = (v) => {
    if (v === null) return "not available";
    if (v === "inf") return "∞";
    if (v === "-inf") return "−∞";
    const size = Math.abs(v);
    return size !== 0 && (size < 1e-3 || size >= 1e5) ? v.toExponential(3) : String(Number(v.toPrecision(5)));
  };
  const tickWords = (v) => {
    const size = Math.abs(v);
    for (const [unit, name] of [[1e9, "B"], [1e6, "M"], [1e4, "k"]])
      if (size >= unit) return Number((v / (unit === 1e4 ? 1e3 : unit)).toPrecision(6)) + name;
    return size && size < 1e-6 ? v.toExponential() : String(Number(v.toPrecision(6)));
  };

  // Where a value stands: by its logarithm, or on both sides of zero (an axis with a threshold) by asinh.
  const transformed = (v, axis) => {
    if (v === "inf" || v === "-inf") v = v === "inf" ? axis.max : axis.min;
    if (v === null || v === undefined) return NaN;
    return axis.log ? Math.log10(v) : axis.threshold ? Math.asinh(v / axis.threshold) : v;
  };
  const valueOf = (series, i) => (series.shown ? series.shown[i] : series.shade ? series.shade[i] : series.y[i]);
  const nameAt = (figure, x) => figure.x.ticks[Math.round(x)][1].replace(/\n/g, ", ");

  // The panels of a layer are drawn where the layer is picked.
  const panelsOf = (figure) => {
    const shown = figure.panels.flatMap((panel, p) => (!panel.layer || view.layers.has(panel.layer) ? [p] : []));
    return shown.length ? shown : figure.panels.slice(0, figure.columns).map((_, p) => p);
  };

  // An axis in pixels from `from` to `to`, of the values between range[0] and range[1] as they are transformed.
  function scaleOf(axis, range, from, to) {
    const of = (t) => from + ((to - from) * (t - range[0])) / (range[1] - range[0]);
    return { axis, range, from, to, place: (v) => of(transformed(v, axis)), of,
             back: (pixel) => range[0] + ((pixel - from) / (to - from)) * (range[1] - range[0]) };
  }

  // [value, words] of those that the axis names; of its own where it names none, or a zoom leaves fewer than two.
  function ticksOf(scale, most) {
    const { axis, range: [low, high] } = scale, near = (v) => { const t = transformed(v, axis); return t >= low - 1e-9 && t <= high + 1e-9; };
    const named = axis.ticks.filter((tick) => near(tick[0]));
    if (axis.categories) return named;
    if (named.length > 1) {
      const each = Math.ceil(named.length / Math.max(most, kTicks + 1));
      return most < kTicks ? named.filter((_, i) => i % Math.ceil(named.length / most) === 0) : named.filter((_, i) => i % each === 0);
    }
    const out = [];
    if (axis.log && high - low > 0.5) {
      const each = Math.max(1, Math.ceil((high - low) / most));
      for (let power = Math.floor(low); power <= high; power += each)
        for (const digit of high - low < 2 ? [1, 2, 5] : [1]) out.push(digit * 10 ** power);
    } else {
      const [from, to] = axis.log ? [10 ** low, 10 ** high] : axis.threshold ? [low, high].map((t) => axis.threshold * Math.sinh(t)) : [low, high];
      const rough = (to - from) / most, unit = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].find((one) => one * unit >= rough) * unit;
      for (let i = Math.ceil(from / step); i * step <= to && out.length < 50; ++i) out.push(i * step);
    }
    return out.filter(near).map((v) => [v, tickWords(v)]);
  }

  // The panels row by row: their axes in pixels, their ticks, and which of them name an axis.
  function layoutOf(figure, width) {
    const places = panelsOf(figure), shown = places.map((p) => figure.panels[p]);
    // Names of layers need more room than numbers.
    const names = shown.flatMap((panel) => (panel.y.categories ? panel.y.ticks.map((tick) => tick[1].length) : []));
    const left = Math.max(kLeft, Math.min(280, 44 + 7 * Math.max(0, ...names))), inner = Math.max(1, width - left - kRight);
    // A telephone has room for one column.
    const columns = Math.min(figure.columns, shown.length, Math.max(1, Math.floor(inner / kNarrowest))), rows = Math.ceil(shown.length / columns);
    const row = view.isPrinted ? (figure === view.lead ? kPrintedLead : kPrintedRow) : figure === view.lead ? kLeadRow : view.isCompact(figure) ? kCompactRow : kRow;
    const heights = Array.from({ length: rows }, (_, r) => row * Math.max(...shown.slice(r * columns, (r + 1) * columns).map((panel) => panel.height)));
    // Panels above each other share one axis, so that the line under the cursor goes through all of them.
    const stack = columns === 1 && shown.length > 1 && !figure.x.categories, gap = view.isPrinted ? kPrintedGap : stack ? kStackGap : kGap;
    const columnGap = columns > 1 ? Math.max(kColumnGap, 0.068 * inner) : 0;
    const each = (inner - columnGap * (columns - 1)) / columns;
    const zoom = view.zoom.get(figure.id) || { y: new Map() };
    const xRange = zoom.x || [figure.x.min, figure.x.max];

    // Names below the last row: of several lines, or turned where they are wider than their place.
    const xNames = figure.x.categories ? figure.x.ticks.map((tick) => tick[1].split("\n")) : [];
    const widest = kLetter * Math.max(0, ...xNames.flat().map((name) => name.length)), tall = Math.max(1, ...xNames.map((name) => name.length)) - 1;
    const turned = xNames.length > 1 && widest > (each / (xRange[1] - xRange[0])) * 0.98;
    const below = turned ? Math.min(150, 0.6 * widest) : 17 * tall;
    const frames = shown.map((panel, i) => {
      const r = Math.floor(i / columns), column = i % columns;
      const top = kTop + heights.slice(0, r).reduce((sum, one) => sum + one + gap, 0), from = left + column * (each + columnGap);
      const near = zoom.y.get(places[i]);
      const yRange = near && near.log === panel.y.log ? near.range : [panel.y.min, panel.y.max].map((v) => transformed(v, panel.y));
      const x = scaleOf(figure.x, xRange, from, from + each), y = scaleOf(panel.y, yRange, top + heights[r], top);
      const last = i + columns >= shown.length, isLog = panel.y.log || panel.y.threshold;
      return { p: places[i], panel, x, y, last, turned,
        xTicks: ticksOf(x, Math.max(2, each / 90)), yTicks: ticksOf(y, Math.min(panel.height < 1 ? kFewTicks : kTicks, Math.max(2, Math.floor((y.from - y.to) / kTickRoom)))),
        namesX: last || (figure.x.categories && !tall && !turned && !stack),
        yTitle: column > 0 && panel.y.title === shown[i - 1].y.title ? ""
          : [panel.y.title + (isLog ? " (log)" : ""), panel.y.title, isLog ? "log" : ""].find((text) => kLetter * text.length < heights[r] + gap + kSpare) };
    });
    const lowest = Math.max(...frames.map((frame) => frame.y.from));
    return { width, height: lowest + kBottom + below, below, left, frames, stack };
  }

  // What stands under the pointer, a line each.
  function wordsOf(figure, series, i) {
    const name = model.arms[series.arm] + (series.layer ? ", " + series.layer : "");
    const known = series.lower && series.lower[i] !== null && series.upper[i] !== null;
    const band = known ? " (" + number(series.lower[i]) + " to " + number(series.upper[i]) + ")" : "";
    const place = figure.x.categories ? nameAt(figure, series.x[i]) : figure.x.title + " " + number(series.x[i]);
    const note = series.notes ? series.notes[i] : series.note;
    return [name, series.quantity + " = " + number(valueOf(series, i)) + band, place, ...(note ? [note] : [])];
  }
  const markWords = (figure, mark) => [model.arms[mark.arm], figure.x.title + " " + mark.x + ": " + mark.label];

  function sample(dash, mark, hex) {
    const pattern = { solid: "", dash: "6 4", dot: "2 3", dashdot: "6 3 2 3" }[dash];
    const dots = { circle: '<circle cx="14" cy="6" r="4"/>', square: '<rect x="10" y="2" width="8" height="8"/>',
                   diamond: '<path d="M14 1l5 5-5 5-5-5z"/>' }[mark] || (mark ? '<path d="M14 11l-5-9h10z"/>' : "");
    return '<svg width="28" height="12" aria-hidden="true"><g fill="' + hex + '" stroke="' + hex + '">' +
      '<line x1="0" y1="6" x2="28" y2="6" stroke-width="2" stroke-dasharray="' + pattern + '"/>' + dots + "</g></svg>";
  }

  function csv(id) {
    const figure = model.figures.find((one) => one.id === id);
    // A name that a spreadsheet would run as a formula gets an apostrophe: "this is text".
    const text = (v) => (/^[=+\-@\t\r]/.test(v) && Number.isNaN(Number(v)) ? "'" + v : v);
    const field = (v) => (/[",\r\n]/.test(v) ? '"' + v.replace(/"/g, '""') + '"' : v);
    const cell = (v) => (v === null || v === undefined ? "" : String(v));
    const rows = [["arm", "layer", "quantity", "panel", figure.x.title, "value", "lower", "upper", "resolved", "note"]];
    for (const series of figure.series) {
      series.x.forEach((x, i) => rows.push([
        model.arms[series.arm], series.layer, series.quantity, figure.panels[series.panel].title,
        figure.x.categories ? nameAt(figure, x) : cell(x), cell(valueOf(series, i)),
        cell(series.lower && series.lower[i]), cell(series.upper && series.upper[i]),
        series.hollow && series.hollow[i] ? "no" : "yes", cell(series.notes ? series.notes[i] : series.note)]));
    }
    return rows.map((row) => row.map(text).map(field).join(",")).join("\r\n") + "\r\n";
  }

  return { layoutOf, panelsOf, transformed, valueOf, wordsOf, markWords, sample, csv, colour, shape, style, transparent };
};
