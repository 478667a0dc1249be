// SPDX-License-Identifier: Apache-2.0
// The lines of a figure as one SVG, from what plotly would be given. Plotly takes seconds to start in a slow browser;
// until it is there, the first screen shows this.
"use strict";
function kappascopeSketch(div, traces, layout) {
  const width = div.clientWidth, { l, r, t, b } = layout.margin;
  const inner = { width: Math.max(1, width - l - r), height: layout.height - t - b };
  const escape = (text) => text.replace(/<br>/g, " ").replace(/&(?!\w+;)/g, "&amp;");
  const at = (v) => v.toFixed(1);
  const axisOf = (letter, name) => {
    const axis = layout[letter + "axis" + (name || letter).slice(1)];
    const from = letter === "x" ? l + axis.domain[0] * inner.width : t + (1 - axis.domain[0]) * inner.height;
    const size = (axis.domain[1] - axis.domain[0]) * (letter === "x" ? inner.width : -inner.height);
    const log = axis.type === "log", [low, high] = axis.range;
    const place = (v) => from + size * (((log ? Math.log10(v) : v) - low) / (high - low));
    return { axis, from, to: from + size, log, low, high, place };
  };

  function words(v) {
    const size = Math.abs(v);
    for (const [unit, name] of [[1e9, "B"], [1e6, "M"], [1e4, "k"]])
      if (size >= unit) return Number((v / (unit === 1e4 ? 1e3 : unit)).toPrecision(6)) + name;
    return size && size < 1e-6 ? v.toExponential() : String(Number(v.toPrecision(6)));
  }
  function ticksOf({ axis, log, low, high }) {
    if (axis.tickvals) return axis.tickvals.map((v, i) => [v, axis.ticktext[i]]);
    const most = axis.nticks || Math.max(2, (inner.width * (axis.domain[1] - axis.domain[0])) / 90);
    const out = [];
    if (log) {
      const each = Math.max(1, Math.ceil((high - low) / most));
      for (let power = Math.floor(low); power <= high; power += each)
        for (const digit of high - low < 2 ? [1, 2, 5] : [1]) out.push(digit * 10 ** power);
    } else {
      const rough = (high - low) / most, unit = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].find((one) => one * unit >= rough) * unit;
      for (let i = Math.ceil(low / step); i * step <= high; ++i) out.push(i * step);
    }
    return out.filter((v) => { const x = log ? Math.log10(v) : v; return x >= low && x <= high; }).map((v) => [v, words(v)]);
  }

  const path = (xs, ys, x, y) => {
    let text = "", pen = "M";
    for (let i = 0; i < xs.length; ++i) {
      const px = xs[i] === null ? NaN : x.place(xs[i]), py = ys[i] === null ? NaN : y.place(ys[i]);
      if (!Number.isFinite(px) || !Number.isFinite(py)) { pen = "M"; continue; }
      text += pen + at(px) + " " + at(py);
      pen = "L";
    }
    return text;
  };
  const label = (text, x, y, more) => '<text x="' + at(x) + '" y="' + at(y) + '" ' + more + ">" + escape(text) + "</text>";
  const line = (x0, y0, x1, y1, more) => '<path d="M' + [x0, y0].map(at).join(" ") + "L" + [x1, y1].map(at).join(" ") + '" ' + more + "/>";

  function frame(name) {
    const x = axisOf("x", layout["yaxis" + name].anchor), y = axisOf("y", "y" + name), lowest = x.axis.anchor === "y" + name;
    const grid = 'stroke="' + y.axis.gridcolor + '"', edge = 'stroke="' + y.axis.linecolor + '"';
    let out = "";
    for (const [v, text] of ticksOf(x)) {
      out += line(x.place(v), y.from, x.place(v), y.to, grid);
      if (x.axis.showticklabels && lowest) out += label(text, x.place(v), y.from + 18, 'text-anchor="middle"');
    }
    for (const [v, text] of ticksOf(y)) {
      out += line(x.from, y.place(v), x.to, y.place(v), grid);
      out += label(text, x.from - 8, y.place(v) + 4, 'text-anchor="end"');
    }
    out += line(x.from, y.from, x.to, y.from, edge) + line(x.from, y.from, x.from, y.to, edge);
    const middle = (y.from + y.to) / 2;
    if (y.axis.title.text) {
      const turned = 'text-anchor="middle" transform="rotate(-90 ' + at(x.from - 60) + " " + at(middle) + ')"';
      out += label(y.axis.title.text, x.from - 60, middle, turned);
    }
    if (x.axis.title.text && lowest) out += label(x.axis.title.text, (x.from + x.to) / 2, y.from + 38, 'text-anchor="middle"');
    return out;
  }

  const dashes = { dash: "9 9", dot: "3 3", dashdot: "9 5 3 5" };
  function drawn(trace) {
    if (!trace.mode || trace.visible === false) return "";
    const x = axisOf("x", trace.xaxis), y = axisOf("y", trace.yaxis), opacity = ' opacity="' + (trace.opacity ?? 1) + '"';
    if (trace.fill) return '<path d="' + path(trace.x, trace.y, x, y) + '" fill="' + trace.fillcolor + '" stroke="none"/>';
    let out = "";
    if (trace.mode.includes("lines"))
      out += '<path d="' + path(trace.x, trace.y, x, y) + '" fill="none" stroke="' + trace.line.color + '" stroke-width="' + trace.line.width +
        '" stroke-dasharray="' + (dashes[trace.line.dash] || "") + '"' + opacity + "/>";
    if (!trace.mode.includes("markers")) return out;
    const { symbol, size, color } = trace.marker, of = (list, i) => (Array.isArray(list) ? list[i] : list);
    trace.x.forEach((v, i) => {
      const px = x.place(v), py = trace.y[i] === null ? NaN : y.place(trace.y[i]);
      if (!(of(size, i) > 0) || !Number.isFinite(px) || !Number.isFinite(py)) return;
      out += '<circle cx="' + at(px) + '" cy="' + at(py) + '" r="' + of(size, i) / 2 + '" stroke="' + color +
        '" fill="' + (of(symbol, i).endsWith("-open") ? "none" : color) + '"' + opacity + "/>";
    });
    return out;
  }

  const names = Object.keys(layout).flatMap((key) => (key.match(/^yaxis(\d*)$/) || []).slice(1));
  // A part of its own cuts off what lies outside of its axes.
  const areas = names.map((name) => {
    const x = axisOf("x", layout["yaxis" + name].anchor), y = axisOf("y", "y" + name);
    const box = [x.from - 6, y.to - 6, x.to - x.from + 12, y.from - y.to + 12].map(at);
    return '<svg class="area" x="' + box[0] + '" y="' + box[1] + '" width="' + box[2] + '" height="' + box[3] + '" viewBox="' + box.join(" ") + '">' +
      traces.filter((trace) => trace.yaxis === "y" + name).map(drawn).join("") + "</svg>";
  }).join("");
  const limits = layout.shapes.map((one) => {
    const x = axisOf("x", one.xref.split(" ")[0]), y = axisOf("y", one.yref);
    return line(x.from, y.place(one.y0), x.to, y.place(one.y0), 'stroke="' + one.line.color + '" stroke-dasharray="9 9"');
  }).join("");
  const titles = layout.annotations.map((one) => {
    const end = 'font-size="' + one.font.size + '" fill="' + one.font.color + '"';
    if (one.xref === "paper") return label(one.text.replace(/<\/?b>/g, ""), l + one.x * inner.width, t + (1 - one.y) * inner.height - 7, 'font-weight="bold" ' + end);
    const x = axisOf("x", one.xref.split(" ")[0]), y = axisOf("y", one.yref);
    return label(one.text, x.to, y.place(y.log ? 10 ** one.y : one.y) - 4, 'text-anchor="end" ' + end);
  }).join("");
  div.innerHTML = '<svg class="sketch" width="' + width + '" height="' + layout.height + '" fill="' + layout.font.color +
    '" font-size="' + layout.font.size + '" font-family="Open Sans, verdana, arial, sans-serif" aria-hidden="true">' +
    names.map(frame).join("") + limits + areas + titles + "</svg>";
}
