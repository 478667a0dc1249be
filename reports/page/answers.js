// SPDX-License-Identifier: Apache-2.0
// The answers of the first screen as Markdown, for a message to a colleague.
"use strict";
const kappascopeAnswers = (() => {
  // A name of somebody else's is no link, tag or emphasis where the text is pasted.
  const text = (node) => (node ? node.textContent.replace(/\s+/g, " ").trim().replace(/[\\`*_[\]<>|#~]/g, "\\$&") : "");

  function markdown() {
    const summary = document.getElementById("summary");
    const lines = ["**" + text(summary.querySelector(".headline")) + "**", "", text(summary.querySelector(".facts-line span")), ""];
    for (const tile of summary.querySelectorAll(".tile")) {
      const numbers = [...tile.querySelectorAll(":scope > ul > li")].map(text);
      lines.push("- " + text(tile.querySelector("h2")) + " **" + text(tile.querySelector(".answer")) + "**" +
        (numbers.length ? ": " + numbers.join("; ") : ""));
    }
    return lines.join("\n") + "\n";
  }

  addEventListener("click", async (event) => {
    const button = event.target.closest && event.target.closest("#copy");
    if (!button) return;
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(markdown());
      button.textContent = "Copied";
    } catch {
      button.textContent = "The browser does not let this page copy";
    }
    setTimeout(() => { button.textContent = before; }, 2000);
  });
  return { markdown };
})();
