// SPDX-License-Identifier: Apache-2.0
// Makes of the figure model what plotly draws. `view` is what the reader chose: `hidden` arms,
// `layers` that are shown, the `zoom` of a figure; `lead` is the figure of the first screen, which is lower.
"use strict";
const kappascopeFigures = (model, view) => {
  const root = document.documentElement;
  const filled = ["circle", "square", "diamond", "triangle-down", "pentagon", "star"];
  const kRow = 150, kCompactRow = 110, kPrintedRow = 76, kLeadRow = document.getElementById("live") ? 106 : 118, kGap = 54, kStackGap = 32, kFewTicks = 4, kTop = 24, kBottom = 46, kLeft = 84;
  // Plotly reads a little HTML in its texts; names are to be seen as they are.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const number = (v) => {
    if (v === null) return "not available";
    if (v === "inf") return "∞";
    if (v === "-inf") return "−∞";
    const size = Math.abs(v);
    return size !== 0 && (size < 1e-3 || size >= 1e5) ? v.toExponential(3) : String(Number(v.toPrecision(5)));
  };
  const colour = (arm) => {
    const list = root.dataset.theme === "dark" ? model.dark : model.light;
    return list[arm % list.length];
  };
  const transparent = (hex, alpha) =>
    "rgba(" + [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)).join(",") + "," + alpha + ")";
  const shape = (arm) => filled[(arm + Math.floor(arm / model.light.length)) % filled.length];
  const style = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  // An axis with a threshold is logarithmic on both sides of zero, which plotly is not: it is given asinh.
  const placed = (v, axis) => (axis.threshold && typeof v === "number" ? Math.asinh(v / axis.threshold) : v);
  const drawn = (value, axis) => placed(value === "inf" ? axis.max : value === "-inf" ? axis.min : value, axis);
  const valueOf = (series, i) => (series.shown ? series.shown[i] : series.shade ? series.shade[i] : series.y[i]);
  const mixed = (from, to, share) => "#" + [1, 3, 5].map((i) => {
    const a = parseInt(from.slice(i, i + 2), 16), b = parseInt(to.slice(i, i + 2), 16);
    return Math.round(a + (b - a) * share).toString(16).padStart(2, "0");
  }).join("");

  // The panels of a layer are drawn where the layer is picked.
  const panelsOf = (figure) => {
    const shown = figure.panels.flatMap((panel, p) => (!panel.layer || view.layers.has(panel.layer) ? [p] : []));
    return shown.length ? shown : figure.panels.slice(0, figure.columns).map((_, p) => p);
  };
  const suffixOf = (place) => (place === 0 ? "" : String(place + 1));
  // Panels above each other share one axis, so that the line under the cursor goes through all of them.
  const isStack = (figure) => figure.columns === 1 && panelsOf(figure).length > 1 && !figure.x.categories;
  const xSuffixOf = (figure, place) => (isStack(figure) ? "" : suffixOf(place));

  const nameAt = (figure, x) => figure.x.ticks[Math.round(x)][1].replace(/\n/g, ", ");

  function noteOf(series, i) {
    const note = series.notes ? series.notes[i] : series.note;
    return note ? "<br>" + plain(note) : "";
  }

  function hoverTexts(figure, series) {
    const name = plain(model.arms[series.arm]) + (series.layer ? ", " + plain(series.layer) : "");
    return series.x.map((x, i) => {
      const place = figure.x.categories ? nameAt(figure, x) : figure.x.title + " " + number(x);
      const known = series.lower && series.lower[i] !== null && series.upper[i] !== null;
      const band = known ? " (" + number(series.lower[i]) + " to " + number(series.upper[i]) + ")" : "";
      return name + "<br>" + plain(series.quantity) + " = <b>" + number(valueOf(series, i)) + "</b>" + band + "<br>" +
        plain(place) + noteOf(series, i);
    });
  }

  // One closed outline for each stretch without a gap.
  function bandTrace(series, axis, base) {
    const x = [], y = [];
    const low = (v) => (axis.log && !(v > 0) ? axis.min / 100 : drawn(v, axis));
    let from = 0;
    const close = (to) => {
      for (let i = from; i < to; ++i) { x.push(series.x[i]); y.push(drawn(series.upper[i], axis)); }
      for (let i = to - 1; i >= from; --i) { x.push(series.x[i]); y.push(low(series.lower[i])); }
      if (to > from) { x.push(null); y.push(null); }
    };
    for (let i = 0; i <= series.x.length; ++i) {
      if (i < series.x.length && series.lower[i] !== null && series.upper[i] !== null) continue;
      close(i);
      from = i + 1;
    }
    return { ...base, x, y, mode: "lines", fill: "toself", line: { width: 0 }, hoverinfo: "skip",
             // Bands of many arms lie upon each other.
             fillcolor: transparent(colour(series.arm), (series.faint ? 0.6 : 1) * (model.arms.length > 2 ? 0.13 : 0.2)) };
  }

  // Bars of height one, each in the shade of its number; the text takes the colour that can be read.
  function cellsTrace(figure, series, base) {
    const card = style("--card"), hex = colour(series.arm);
    const shades = series.shade.map((s) => mixed(card, hex, Math.sqrt(s)));
    const light = (shade) => [1, 3, 5].reduce((sum, i, c) => sum + [0.3, 0.59, 0.11][c] * parseInt(shade.slice(i, i + 2), 16), 0);
    return {
      ...base, type: "bar", x: series.x, base: series.y.map((y) => y - 0.5), y: series.y.map(() => 1), width: 1,
      name: plain(model.arms[series.arm]), hoverinfo: "text", hovertext: hoverTexts(figure, series),
      marker: { color: shades, line: { width: 1, color: card } },
      text: series.shade.map((s) => (s < 0.005 ? "" : Math.round(100 * s) + " %")), textposition: "inside",
      insidetextanchor: "middle", textangle: 0, constraintext: "none",
      insidetextfont: { color: shades.map((shade) => (light(shade) > 120 ? "#101419" : "#ffffff")) },
    };
  }

  // Steps by layers: one image where all layers were measured at the same steps, else one a layer.
  function mapTraces(figure, p, base) {
    const all = figure.series.filter((series) => series.panel === p).sort((a, b) => a.y[0] - b.y[0]);
    const same = all.every((one) => one.x.length === all[0].x.length && one.x.every((x, i) => x === all[0].x[i]));
    const edges = (series) => [...series.x, series.until[series.until.length - 1]];
    return (same ? [all] : all.map((one) => [one])).map((rows) => ({
      ...base, type: "heatmap", x: edges(rows[0]), y: [...rows.map((one) => one.y[0] - 0.5), rows[rows.length - 1].y[0] + 0.5],
      z: rows.map((one) => one.shade), zmin: 0, zmax: 1, showscale: false, hoverinfo: "text", hoverongaps: false,
      colorscale: [[0, style("--card")], [1, colour(rows[0].arm)]], text: rows.map((one) => hoverTexts(figure, one)),
    }));
  }

  function seriesTraces(figure, series, place) {
    const axis = figure.panels[series.panel].y;
    const base = { type: "scatter", xaxis: "x" + xSuffixOf(figure, place), yaxis: "y" + suffixOf(place), showlegend: false,
                   meta: series.arm, visible: !view.hidden.has(series.arm) };
    if (series.until) return figure.series.find((one) => one.panel === series.panel) === series ? mapTraces(figure, series.panel, base) : [];
    if (series.shade) return [cellsTrace(figure, series, base)];
    const mark = shape(series.arm), hex = colour(series.arm);
    const isHollow = (i) => Boolean(series.hollow && series.hollow[i]);
    const few = series.x.length <= 60 && series.dash === "solid";
    const size = series.y.map((_, i) => (isHollow(i) ? 8 : few ? (series.faint ? 4 : 6) : 0));
    const marked = series.points || size.some((s) => s > 0);
    const hovertext = hoverTexts(figure, series);
    const trace = {
      ...base, x: series.x, y: series.y.map((v) => (typeof v === "string" ? null : placed(v, axis))),
      name: plain(model.arms[series.arm]), hoverinfo: "text", hovertext,
      mode: series.points ? "markers" : marked ? "lines+markers" : "lines",
      connectgaps: false, cliponaxis: !marked, opacity: series.faint ? 0.45 : 1,
      line: { color: hex, dash: series.dash, width: series.faint ? 1.2 : 2 },
    };
    if (marked) {
      trace.marker = { symbol: series.y.map((_, i) => (isHollow(i) ? mark + "-open" : mark)), size: series.points ? 10 : size,
                       color: hex, opacity: 1, line: { width: series.points ? 1.5 : 1, color: hex } };
    }
    const traces = series.lower && !series.points ? [bandTrace(series, axis, base), trace] : [trace];
    // A line up to infinity would look like a measured slope: a triangle at the edge stands alone.
    const infinite = series.y.flatMap((v, i) => (typeof v === "string" ? [i] : []));
    if (infinite.length) {
      traces.push({ ...base, x: infinite.map((i) => series.x[i]), y: infinite.map((i) => drawn(series.y[i], axis)), mode: "markers",
                    cliponaxis: false, hoverinfo: "text", hovertext: infinite.map((i) => hovertext[i]),
                    marker: { symbol: infinite.map((i) => (series.y[i] === "inf" ? "triangle-up-open" : "triangle-down-open")),
                              // Of many in a row one is enough to see.
                              size: infinite.length > 60 ? 4 : 11, color: hex, line: { width: 1.5, color: hex } } });
    }
    // A band needs two points: one alone has a bar.
    const known = (i) => Boolean(series.lower) && i in series.lower && series.lower[i] !== null && series.upper[i] !== null;
    const alone = (i) => known(i) && !known(i - 1) && !known(i + 1);
    if (series.points && series.lower || series.y.some((_, i) => alone(i))) {
      // No bound, no bar: one of length 0 would look like certainty.
      const gap = (edge, i) => (edge === null || !(series.points || alone(i)) ? NaN
        : typeof edge === "string" || typeof series.y[i] !== "number" ? 0 : Math.abs(placed(edge, axis) - placed(series.y[i], axis)));
      trace.error_y = { type: "data", symmetric: false, array: series.upper.map(gap),
                        arrayminus: series.lower.map(gap), color: hex, thickness: 1.5, width: 5 };
    }
    return traces;
  }

  // A low panel has room for a few.
  const ticksOf = (axis, height = 1) => {
    const each = height < 1 && !axis.categories ? Math.ceil(axis.ticks.length / kFewTicks) : 1;
    const ticks = axis.ticks.filter((_, i) => i % each === 0);
    return ticks.length ? { tickmode: "array", tickvals: ticks.map((tick) => placed(tick[0], axis)),
                            ticktext: ticks.map((tick) => plain(tick[1]).replace(/\n/g, "<br>")) } : {};
  };

  function layoutOf(figure) {
    const places = panelsOf(figure), shown = places.map((p) => figure.panels[p]);
    const columns = Math.min(figure.columns, shown.length);
    const rows = Math.ceil(shown.length / columns);
    const heights = [];
    for (let r = 0; r < rows; ++r) {
      const row = shown.slice(r * columns, (r + 1) * columns);
      heights.push((view.isPrinted ? kPrintedRow : figure === view.lead ? kLeadRow : view.isCompact(figure) ? kCompactRow : kRow) * Math.max(...row.map((panel) => panel.height)));
    }
    // Names of several lines stand once, below the last row.
    const tall = Math.max(1, ...figure.x.ticks.map((tick) => tick[1].split("\n").length)) - 1, bottom = kBottom + 17 * tall;
    const stack = isStack(figure), gapBelow = stack ? kStackGap : kGap;
    const inner = heights.reduce((a, b) => a + b, 0) + gapBelow * (rows - 1);
    // Names of layers need more room than numbers.
    const names = shown.flatMap((panel) => (panel.y.categories ? panel.y.ticks.map((tick) => tick[1].length) : []));
    const ink = style("--ink"), soft = style("--soft"), grid = style("--grid");
    const layout = {
      height: inner + kTop + bottom, margin: { l: Math.max(kLeft, Math.min(280, 44 + 7 * Math.max(0, ...names))), r: 14, t: kTop, b: bottom },
      paper_bgcolor: style("--card"), plot_bgcolor: style("--card"), font: { color: ink, size: 12.5 },
      hovermode: "closest", spikedistance: -1, showlegend: false, annotations: [], shapes: [], dragmode: "zoom", barmode: "overlay", bargap: 0,
      hoverlabel: { bgcolor: style("--card"), bordercolor: soft, font: { color: ink } },
    };
    const zoom = view.zoom.get(figure.id) || { y: new Map() };
    const gap = columns > 1 ? 0.068 : 0;
    const width = (1 - gap * (columns - 1)) / columns;
    const common = { gridcolor: grid, linecolor: soft, zeroline: false, showline: true, ticks: "outside", tickcolor: soft };
    let top = inner;
    shown.forEach((panel, p) => {
      const row = Math.floor(p / columns), column = p % columns;
      if (column === 0 && row > 0) top -= heights[row - 1] + gapBelow;
      const left = column * (width + gap), suffix = suffixOf(p);
      const last = p + columns >= shown.length;
      const domain = [Math.max(0, (top - heights[row]) / inner), Math.min(1, top / inner)];
      if (!stack || last) layout["xaxis" + xSuffixOf(figure, p)] = {
        ...common, domain: [left, left + width], anchor: "y" + suffix, range: zoom.x || [figure.x.min, figure.x.max],
        title: { text: last ? plain(figure.x.title) : "", standoff: 6 }, showticklabels: last || (figure.x.categories && !tall),
        ...(p > 0 && !stack ? { matches: "x" } : {}), automargin: last && figure.x.categories, ...ticksOf(figure.x),
        ...(stack ? { showspikes: true, spikemode: "across", spikesnap: "cursor", spikethickness: 1, spikedash: "solid", spikecolor: soft } : {}),
      };
      const log = panel.y.log, near = zoom.y.get(places[p]);
      layout["yaxis" + suffix] = {
        ...common, domain, anchor: "x" + xSuffixOf(figure, p), type: log ? "log" : "linear",
        range: near && near.log === log ? near.range : log ? [Math.log10(panel.y.min), Math.log10(panel.y.max)] : [panel.y.min, panel.y.max].map((v) => placed(v, panel.y)),
        title: { text: column === 0 || panel.y.title !== shown[p - 1].y.title ? plain(panel.y.title) + (log || panel.y.threshold ? " (log)" : "") : "", standoff: 4 },
        nticks: panel.height < 1 ? kFewTicks : 6, ...ticksOf(panel.y, panel.height),
      };
      layout.annotations.push({
        text: "<b>" + plain(panel.title) + "</b>", x: left, xref: "paper", xanchor: "left", y: domain[1], yref: "paper",
        yanchor: "bottom", showarrow: false, font: { size: 12.5, color: ink },
      });
    });
    for (const line of figure.lines) {
      const place = panelsOf(figure).indexOf(line.panel);
      if (place < 0) continue;
      const suffix = suffixOf(place), across = "x" + xSuffixOf(figure, place) + " domain";
      const axis = figure.panels[line.panel].y, log = axis.log, y = placed(line.y, axis);
      layout.shapes.push({ type: "line", xref: across, x0: 0, x1: 1, yref: "y" + suffix, y0: y, y1: y,
                           line: { color: soft, width: 1, dash: "dash" } });
      if (line.label) layout.annotations.push({ text: plain(line.label), xref: across, x: 1, xanchor: "right", yref: "y" + suffix,
                                y: log ? Math.log10(y) : y, yanchor: "bottom", showarrow: false, font: { size: 11, color: soft } });
    }
    return layout;
  }

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

  // What happened at a step, on the upper edge of the first panel: one trace an arm, so that a hidden arm hides them.
  function markTraces(figure) {
    const axis = figure.panels[panelsOf(figure)[0]].y;
    return model.arms.flatMap((name, arm) => {
      const marks = (figure.marks || []).filter((mark) => mark.arm === arm);
      if (!marks.length) return [];
      const words = (label) => (label.length > 300 ? label.slice(0, 300) + " …" : label).replace(/(.{60,80}?) /g, "$1\n");
      return [{
        type: "scatter", mode: "markers", xaxis: "x", yaxis: "y", showlegend: false, meta: arm, visible: !view.hidden.has(arm),
        x: marks.map((mark) => mark.x), y: marks.map(() => placed(axis.max, axis)), cliponaxis: false, hoverinfo: "text",
        hovertext: marks.map((mark) => plain(name) + "<br>" + plain(figure.x.title + " " + mark.x + ": " + words(mark.label)).replace(/\n/g, "<br>")),
        marker: { symbol: marks.map((mark) => mark.nonFinite ? "x" : "triangle-down"), size: 9, color: colour(arm), line: { width: 1, color: style("--card") } },
      }];
    });
  }

  const tracesOf = (figure) => {
    const shown = panelsOf(figure);
    return [...figure.series.flatMap((series) => {
      const at = shown.indexOf(series.panel);
      return at < 0 ? [] : seriesTraces(figure, series, at);
    }), ...markTraces(figure)];
  };

  return { tracesOf, layoutOf, panelsOf, sample, csv, colour, shape, style, transparent };
};
