// SPDX-License-Identifier: Apache-2.0
// Draws one figure as SVG and answers the pointer: the nearest point in words, a cursor through panels that share an axis, a
// zoom by dragging (twice clicked: back), and rows that can be picked.
"use strict";
const kappascopePlots = (model, view, figures, { zoomed, picked }) => {
  const { layoutOf, valueOf, wordsOf, markWords, csv, colour, shape, style, transparent } = figures;
  const kBold = 7.5;  // mean width of a letter of a title
  const kReach = 24, kDrag = 8;  // pixels: how far the pointer takes a point, and what counts as dragging
  const kManyPoints = 60, kShades = 24, kSheet = 700, kPrintZoom = 0.7;
  const dashes = { solid: "", dash: "9 9", dot: "3 3", dashdot: "9 5 3 5" };
  const escape = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
  const at = (v) => String(Math.round(v * 10) / 10);
  const label = (text, x, y, more) => '<text x="' + at(x) + '" y="' + at(y) + '" ' + more + ">" + escape(text) + "</text>";
  const line = (x0, y0, x1, y1, more) => '<path d="M' + at(x0) + " " + at(y0) + "L" + at(x1) + " " + at(y1) + '" ' + more + "/>";

  const polygon = (corners, inner = 1) => (r) => "M" + Array.from({ length: corners * (inner < 1 ? 2 : 1) }, (_, i) => {
    const angle = (Math.PI * 2 * i) / (corners * (inner < 1 ? 2 : 1)) - Math.PI / 2, far = r * (inner < 1 && i % 2 ? inner : 1);
    return at(far * Math.cos(angle)) + " " + at(far * Math.sin(angle));
  }).join("L") + "z";
  const symbols = {
    circle: (r) => "m" + -r + " 0a" + r + " " + r + " 0 1 0 " + 2 * r + " 0a" + r + " " + r + " 0 1 0 " + -2 * r + " 0z",
    square: (r) => "M" + [-r, -r] + "H" + r + "V" + r + "H" + -r + "z",
    diamond: polygon(4), pentagon: polygon(5), star: polygon(5, 0.45), "triangle-up": polygon(3),
    "triangle-down": (r) => "M0 " + r + "L" + -0.87 * r + " " + -0.5 * r + "H" + 0.87 * r + "z",
    x: (r) => "M" + [-r, -r] + "L" + [r, r] + "M" + [-r, r] + "L" + [r, -r],
  };
  const marker = (kind, x, y, r, more) => '<path d="' + symbols[kind](r) + '" transform="translate(' + at(x) + " " + at(y) + ')" ' + more + "/>";

  // A frame without its data: grid, ticks, titles and thresholds.
  function frameOf(figure, frame, layout, ink, soft, grid) {
    const { x, y, panel } = frame, middle = (y.from + y.to) / 2;
    let out = "";
    for (const [v, text] of frame.xTicks) {
      const place = x.place(v);
      out += line(place, y.from, place, y.to, 'stroke="' + grid + '"');
      if (!frame.namesX) continue;
      if (frame.turned) out += label(text, place, y.from + 16, 'class="x-tick" text-anchor="end" transform="rotate(-35 ' + at(place) + " " + at(y.from + 16) + ')"');
      else text.split("\n").forEach((part, i) => { out += label(part, place, y.from + 18 + 16 * i, 'class="x-tick" text-anchor="middle"'); });
    }
    for (const [v, text] of frame.yTicks) {
      out += line(x.from, y.place(v), x.to, y.place(v), 'stroke="' + grid + '"');
      out += label(text, x.from - 8, y.place(v) + 4, 'text-anchor="end"');
    }
    out += line(x.from, y.from, x.to, y.from, 'stroke="' + soft + '"') + line(x.from, y.from, x.from, y.to, 'stroke="' + soft + '"');
    // Layers differ in the middle of their names or at the end.
    const letters = [...panel.title], over = letters.length - Math.floor((x.to + 14 - x.from) / kBold);
    if (over > 0) letters.splice(Math.floor((letters.length - over) / 4), over + 1, "…");
    out += label(letters.join(""), x.from, y.to - 7, 'font-weight="bold" class="title"');
    const aside = x.from - (x.from > layout.left + 1 ? 52 : layout.left - 13);
    if (frame.yTitle) out += label(frame.yTitle, aside, middle, 'text-anchor="middle" transform="rotate(-90 ' + at(aside) + " " + at(middle) + ')"');
    if (frame.last && figure.x.title) out += label(figure.x.title, (x.from + x.to) / 2, y.from + 38 + layout.below, 'text-anchor="middle"');
    for (const one of figure.lines.filter((one) => one.panel === frame.p)) {
      const place = y.place(one.y);
      if (!(place >= y.to && place <= y.from)) continue;
      out += line(x.from, place, x.to, place, 'stroke="' + soft + '" stroke-dasharray="9 9"');
    }
    return out;
  }

  // Whether data passes through a box.
  function isCrossed(figure, { x, y, p }, [left, right, top, bottom]) {
    const isIn = (px, py) => px >= left && px <= right && py >= top && py <= bottom;
    return figure.series.some((series) => {
      if (series.panel !== p || series.until || series.shade || view.hidden.has(series.arm)) return false;
      let [qx, qy] = [NaN, NaN];
      return series.x.some((v, i) => {
        const [px, py, from, to] = [x.place(v), y.place(series.y[i]), qx, qy];
        [qx, qy] = [px, py];
        if (isIn(px, py)) return true;
        const [begin, end] = [Math.max(from, left), Math.min(px, right)];
        if (series.points || !(begin < end)) return false;
        return [0, 0.25, 0.5, 0.75, 1].some((share) => {
          const across = begin + share * (end - begin);
          return isIn(across, to + ((py - to) * (across - from)) / (px - from));
        });
      });
    });
  }

  // At the right end above its line, or where nothing passes, beside the panel's title; over the data where it passes everywhere.
  function lineLabel(figure, frame, { label: text, y: v }, soft, card) {
    const { x, y } = frame, place = y.place(v);
    if (!text || !(place >= y.to && place <= y.from)) return "";
    const width = 6.5 * text.length, height = 11, titleTo = x.from + kBold * frame.panel.title.length;
    const places = [place - 4, place + 4 + height].filter((low) => low > y.to && low < y.from)
      .flatMap((low) => [["end", x.to - width, x.to, low], ["start", x.from + 6, x.from + 6 + width, low]])
      .filter(([, left, , low]) => low - height > y.to - 4 || left > titleTo);
    const [anchor, left, right, low] = places.find(([, left, right, low]) => !isCrossed(figure, frame, [left - 6, right + 6, low - height - 3, low + 3])) ||
      places[0] || ["end", x.to - width, x.to, place - 4];
    return label(text, anchor === "end" ? right : left, low, 'text-anchor="' + anchor + '" font-size="11" fill="' + soft +
      '" stroke="' + card + '" stroke-width="3" paint-order="stroke"');
  }

  const mixed = (from, to, share) => "#" + [1, 3, 5].map((i) => {
    const a = parseInt(from.slice(i, i + 2), 16), b = parseInt(to.slice(i, i + 2), 16);
    return Math.round(a + (b - a) * share).toString(16).padStart(2, "0");
  }).join("");
  const isLight = (shade) => [1, 3, 5].reduce((sum, i, c) => sum + [0.3, 0.59, 0.11][c] * parseInt(shade.slice(i, i + 2), 16), 0) > 120;

  // Bars of height one, each in the shade of its number; the text takes the colour that can be read.
  function cells(series, { x, y }, card) {
    return series.x.map((v, i) => {
      const shade = mixed(card, colour(series.arm), Math.sqrt(series.shade[i])), [left, right] = [x.of(v - 0.5), x.of(v + 0.5)];
      const [low, high] = [y.of(series.y[i] - 0.5), y.of(series.y[i] + 0.5)];
      const box = '<rect x="' + at(left) + '" y="' + at(high) + '" width="' + at(right - left) + '" height="' + at(low - high) + '" fill="' + shade + '" stroke="' + card + '"/>';
      const text = series.shade[i] < 0.005 || right - left < 30 ? "" : Math.round(100 * series.shade[i]) + " %";
      return box + label(text, (left + right) / 2, (low + high) / 2 + 4, 'text-anchor="middle" fill="' + (isLight(shade) ? "#101419" : "#ffffff") + '"');
    }).join("");
  }

  // A row of steps, each as dark as its number: one path a shade.
  function rowOf(series, { x, y }, card) {
    const paths = new Map(), [low, high] = [y.of(series.y[0] - 0.5), y.of(series.y[0] + 0.5)];
    series.x.forEach((from, i) => {
      if (series.shade[i] === null) return;
      const shade = Math.round(series.shade[i] * kShades), [left, right] = [x.of(from), x.of(series.until[i])];
      paths.set(shade, (paths.get(shade) || "") + "M" + at(left) + " " + at(high) + "H" + at(Math.max(right, left + 0.5)) + "V" + at(low) + "H" + at(left) + "z");
    });
    return [...paths].map(([shade, path]) => '<path shape-rendering="crispEdges" d="' + path + '" fill="' + mixed(card, colour(series.arm), shade / kShades) + '"/>').join("");
  }

  // One closed outline for each stretch without a gap.
  function bandOf(series, { x, y }) {
    const low = (v) => (y.axis.log && !(v > 0) ? y.from : y.place(v));
    let out = "", from = 0;
    for (let i = 0; i <= series.x.length; ++i) {
      if (i < series.x.length && series.lower[i] !== null && series.upper[i] !== null) continue;
      const stretch = Array.from({ length: i - from }, (_, k) => from + k);
      if (stretch.length > 1)
        out += "M" + [...stretch.map((k) => at(x.place(series.x[k])) + " " + at(y.place(series.upper[k]))),
          ...stretch.reverse().map((k) => at(x.place(series.x[k])) + " " + at(low(series.lower[k])))].join("L") + "z";
      from = i + 1;
    }
    const alpha = (series.faint ? 0.6 : 1) * (model.arms.length > 2 ? 0.13 : 0.2);  // those of many arms lie upon each other
    return out && '<path class="band" d="' + out + '" fill="' + transparent(colour(series.arm), alpha) + '"/>';
  }

  // Bounds of what has no band: of points, and of a value alone. No bound, no bar: one of length 0 would look like certainty.
  function barsOf(series, { x, y }) {
    const known = (i) => i in series.lower && series.lower[i] !== null && series.upper[i] !== null;
    let out = "";
    series.x.forEach((v, i) => {
      if (!known(i) || typeof series.y[i] !== "number" || !(series.points || (!known(i - 1) && !known(i + 1)))) return;
      const place = x.place(v), [low, high] = [series.lower[i], series.upper[i]].map((edge) => Math.max(-1e4, Math.min(1e4, y.place(edge))));
      if (!Number.isFinite(low) || !Number.isFinite(high)) return;
      out += "M" + at(place) + " " + at(low) + "V" + at(high) + [low, high].map((edge) => "M" + at(place - 3) + " " + at(edge) + "h6").join("");
    });
    return out && '<path class="bar" d="' + out + '" fill="none" stroke="' + colour(series.arm) + '" stroke-width="1.5"/>';
  }

  function points(series, { x, y }, card) {
    const hex = colour(series.arm), few = series.x.length <= kManyPoints && series.dash === "solid";
    const infinite = series.y.filter((v) => typeof v === "string").length;
    let path = "", pen = "M", marks = "";
    series.x.forEach((v, i) => {
      const value = series.y[i], px = x.place(v), py = y.place(value);
      // A line up to infinity would look like a measured slope: a triangle at the edge stands alone.
      const isInfinite = typeof value === "string";
      if (!isInfinite && Number.isFinite(px) && Number.isFinite(py)) {
        path += pen + at(px) + " " + at(py);
        pen = "L";
      } else pen = "M";
      if (!Number.isFinite(px) || !Number.isFinite(py)) return;
      const hollow = Boolean(series.hollow && series.hollow[i]);
      const size = isInfinite ? (infinite > kManyPoints ? 4 : 11) : series.points ? 10 : hollow ? 8 : few ? (series.faint ? 4 : 6) : 0;
      const kind = isInfinite ? (value === "inf" ? "triangle-up" : "triangle-down") : shape(series.arm);
      if (size > 0) marks += marker(kind, px, py, size / 2, 'fill="' + (hollow || isInfinite ? card : hex) + '" stroke="' + hex + '" stroke-width="1.3"');
    });
    return (series.lower && !series.points ? bandOf(series, { x, y }) : "") + (series.lower ? barsOf(series, { x, y }) : "") +
      (series.points ? "" : '<path class="line" d="' + path + '" fill="none" stroke="' + hex + '" stroke-width="' + (series.faint ? 1.2 : 2) +
        '" stroke-dasharray="' + dashes[series.dash] + '"/>') + marks;
  }

  const ofArm = (arm) => '<g data-arm="' + arm + '"' + (view.hidden.has(arm) ? ' display="none"' : "");

  function marksOf(figure, { x, y }, card) {
    return (figure.marks || []).map((mark) => ofArm(mark.arm) + ">" +
      marker(mark.nonFinite ? "x" : "triangle-down", x.place(mark.x), y.to, 5, 'fill="' + colour(mark.arm) + '" stroke="' + (mark.nonFinite ? colour(mark.arm) : card) +
        '" stroke-width="' + (mark.nonFinite ? 3 : 1) + '"') + "</g>").join("");
  }

  function svgOf(figure, layout) {
    const [card, ink, soft, grid] = ["--card", "--ink", "--soft", "--grid"].map(style);
    // A part of its own cuts off what lies outside of its axes, but for the half of a marker on the edge.
    const data = layout.frames.map((frame, f) => {
      const { x, y } = frame, box = [x.from - 6, y.to - 6, x.to - x.from + 12, y.from - y.to + 12].map(at);
      const drawn = figure.series.map((series, s) => (series.panel !== frame.p ? "" : ofArm(series.arm) + ' data-series="' + s + '"' +
        (series.faint && !series.until && !series.shade ? ' opacity="0.45"' : "") + ">" +
        (series.until ? rowOf(series, frame, card) : series.shade ? cells(series, frame, card) : points(series, frame, card)) + "</g>")).join("");
      return '<svg x="' + box[0] + '" y="' + box[1] + '" width="' + box[2] + '" height="' + box[3] + '" viewBox="' + box.join(" ") + '">' + drawn +
        (f === 0 ? marksOf(figure, frame, card) : "") + "</svg>";
    }).join("");
    const labels = layout.frames.map((frame) => figure.lines.filter((one) => one.panel === frame.p)
      .map((one) => lineLabel(figure, frame, one, soft, card)).join("")).join("");
    const areas = layout.frames.map(({ x, y }, f) => '<rect class="area" data-frame="' + f + '" x="' + at(x.from) + '" y="' + at(y.to) + '" width="' + at(x.to - x.from) +
      '" height="' + at(y.from - y.to) + '" fill="transparent"/>').join("");
    return '<svg xmlns="http://www.w3.org/2000/svg" class="drawing" aria-hidden="true" width="' + layout.width + '" height="' + layout.height +
      '" viewBox="0 0 ' + layout.width + " " + layout.height + '" fill="' + ink + '" stroke-linejoin="round" font-size="12.5">' +
      '<rect width="100%" height="100%" fill="' + card + '"/>' +
      layout.frames.map((frame) => frameOf(figure, frame, layout, ink, soft, grid)).join("") + data + labels + '<path class="cursor" stroke="' + soft + '" d=""/>' + areas + "</svg>";
  }

  // The series and the number of the point at a place, or a mark.
  function nearest(figure, layout, frame, px, py) {
    let best = null, reach = kReach ** 2;
    const offer = (distance, found) => { if (distance < reach) { reach = distance; best = found; } };
    const { x, y } = frame, across = x.back(px), up = y.back(py);
    if (frame === layout.frames[0])
      for (const mark of figure.marks || [])
        if (!view.hidden.has(mark.arm)) offer((x.place(mark.x) - px) ** 2 + (y.to - py) ** 2, { mark, px: x.place(mark.x), py: y.to });
    for (const series of figure.series) {
      if (series.panel !== frame.p || view.hidden.has(series.arm)) continue;
      series.x.forEach((v, i) => {
        const isCell = Boolean(series.until || series.shade);
        if (isCell) {
          const inside = series.until ? v <= across && across < series.until[i] : Math.abs(v - across) <= 0.5;
          if (inside && Math.abs(series.y[i] - up) <= 0.5 && valueOf(series, i) !== null) offer(0, { series, i, px, py });
          return;
        }
        const place = x.place(v), height = y.place(series.y[i]);
        offer((place - px) ** 2 + (height - py) ** 2, { series, i, px: place, py: height });
      });
    }
    return best;
  }

  function answer(div) {
    const tip = document.createElement("div"), svg = () => div.querySelector("svg.drawing");
    tip.className = "tip";
    tip.hidden = true;
    div.append(tip);
    let drag = null;
    const placeOf = (event) => { const box = svg().getBoundingClientRect(); return [(event.clientX - box.left) * (div.layout.width / box.width), (event.clientY - box.top) * (div.layout.height / box.height)]; };
    const frameAt = (event) => (event.target.dataset && event.target.dataset.frame !== undefined ? div.layout.frames[Number(event.target.dataset.frame)] : null);
    const leave = () => { tip.hidden = true; svg().querySelector(".cursor").setAttribute("d", ""); };

    function move(event) {
      const frame = drag ? drag.frame : frameAt(event), [px, py] = placeOf(event);
      if (!frame) { leave(); return; }
      if (drag) {
        const inside = (v, scale) => Math.max(Math.min(scale.from, scale.to), Math.min(Math.max(scale.from, scale.to), v));
        drag.to = [inside(px, frame.x), inside(py, frame.y)];
        drag.wide = Math.abs(drag.to[0] - drag.from[0]) > kDrag;
        drag.tall = Math.abs(drag.to[1] - drag.from[1]) > kDrag;
        const [x0, x1] = drag.wide ? [drag.from[0], drag.to[0]].sort((a, b) => a - b) : [frame.x.from, frame.x.to];
        const [y0, y1] = drag.tall ? [drag.from[1], drag.to[1]].sort((a, b) => a - b) : [frame.y.to, frame.y.from];
        svg().querySelector(".cursor").setAttribute("d", drag.wide || drag.tall ? "M" + [x0, y0] + "H" + x1 + "V" + y1 + "H" + x0 + "z" : "");
        svg().querySelector(".cursor").setAttribute("fill", "none");
        return;
      }
      const frames = div.layout.stack ? div.layout.frames : [frame];
      svg().querySelector(".cursor").setAttribute("d", frames.map(({ y }) => "M" + at(px) + " " + at(y.to) + "V" + at(y.from)).join(""));
      const figure = div.figure, found = nearest(figure, div.layout, frame, px, py);
      tip.hidden = !found;
      if (!found) return;
      tip.textContent = (found.mark ? markWords(figure, found.mark) : wordsOf(figure, found.series, found.i)).join("\n");
      const left = found.px + 14 + tip.offsetWidth > div.clientWidth ? found.px - 14 - tip.offsetWidth : found.px + 14;
      tip.style.left = Math.max(0, left) + "px";
      tip.style.top = Math.max(0, found.py - tip.offsetHeight / 2) + "px";
    }
    div.addEventListener("pointermove", move);
    div.addEventListener("pointerleave", () => { if (!drag) leave(); });
    div.addEventListener("pointerdown", (event) => {
      const frame = frameAt(event);
      if (event.pointerType === "touch") move(event);  // a finger scrolls
      if (!frame || event.button !== 0 || event.pointerType === "touch") return;
      drag = { frame, from: placeOf(event) };
      div.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    div.addEventListener("pointerup", (event) => {
      if (!drag) return;
      const { frame, from, to, wide, tall } = drag, figure = div.figure;
      drag = null;
      div.releasePointerCapture(event.pointerId);
      leave();
      const range = (scale, k) => [scale.back(from[k]), scale.back(to[k])].sort((a, b) => a - b);
      if (wide || tall) zoomed(figure, wide ? range(frame.x, 0) : null, tall ? { p: frame.p, range: range(frame.y, 1), log: frame.panel.y.log } : null);
      else {
        const row = figure.series.find((series) => series.until && series.panel === frame.p && Math.abs(series.y[0] - frame.y.back(from[1])) <= 0.5);
        if (row) picked(figure, row);
      }
    });
    div.addEventListener("pointercancel", () => { drag = null; leave(); });
    div.addEventListener("dblclick", () => zoomed(div.figure, null, null));
  }

  // Draws it into its place, as wide as that is; or as an upright sheet is, where page.css may zoom out.
  function draw(div, figure) {
    const printed = kSheet / (view.isCompact(figure) ? kPrintZoom : 1);
    div.figure = figure;
    div.layout = layoutOf(figure, view.isPrinted ? printed : Math.max(280, div.clientWidth));
    const old = div.querySelector("svg.drawing"), holder = document.createElement("template");
    holder.innerHTML = svgOf(figure, div.layout);
    if (old) old.replaceWith(holder.content);
    else {
      div.prepend(holder.content);
      answer(div);
    }
  }

  // The picture as a file of its own, with the numbers behind it.
  function picture(div) {
    const svg = div.querySelector("svg.drawing").cloneNode(true), numbers = document.createElementNS(svg.namespaceURI, "metadata");
    for (const one of svg.querySelectorAll('.area, .cursor, [display="none"]')) one.remove();
    svg.removeAttribute("aria-hidden");
    svg.setAttribute("font-family", "sans-serif");
    numbers.textContent = csv(div.figure.id).replace(/\r/g, "");
    svg.prepend(numbers);
    return new XMLSerializer().serializeToString(svg);
  }

  return { draw, picture };
};
