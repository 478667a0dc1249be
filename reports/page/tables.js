// SPDX-License-Identifier: Apache-2.0
// Tables of runs: a click on a column sorts by it, a second one the other way, and what is typed above
// leaves the rows that hold every word of it. Both survive a section that is sent anew.
"use strict";
const kappascopeTables = (() => {
  const chosen = new Map();  // section id -> { words, column, down }
  const stateOf = (place) => {
    const id = place.closest("section").id;
    if (!chosen.has(id)) chosen.set(id, { words: "", column: -1, down: false });
    return chosen.get(id);
  };
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    const number = parseFloat(cell.dataset.value ?? cell.textContent.replace(/,/g, ""));
    return [Number.isNaN(number) ? null : number, cell.textContent];
  };
  const order = (a, b) => (a[0] === null || b[0] === null ? (a[0] === null) - (b[0] === null) : a[0] - b[0])
    || a[1].localeCompare(b[1], undefined, { numeric: true });

  function show(place) {
    const state = stateOf(place), table = place.closest("section").querySelector("table.runs"), body = table.tBodies[0];
    const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    if (state.column < 0) return;
    const rows = [...body.rows].map((row) => [keyOf(row, state.column), row]).sort((a, b) => order(a[0], b[0]));
    if (state.down) rows.reverse();
    body.append(...rows.map(([, row]) => row));
    [...table.tHead.rows[0].cells].forEach((cell, i) =>
      cell.setAttribute("aria-sort", i !== state.column ? "none" : state.down ? "descending" : "ascending"));
  }
  addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("table.runs thead button");
    if (!button) return;
    const state = stateOf(button), column = button.parentElement.cellIndex;
    state.down = state.column === column && !state.down;
    state.column = column;
    show(button);
  });
  addEventListener("input", (event) => {
    if (!event.target.matches(".filter input")) return;
    stateOf(event.target).words = event.target.value;
    show(event.target);
  });
  return {
    refresh() {
      for (const input of document.querySelectorAll(".filter input")) {
        input.value = stateOf(input).words;
        show(input);
      }
    },
  };
})();
