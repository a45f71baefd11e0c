// Where the chosen line comes from, and what its operations became in each pass.
"use strict";
(() => {
  const { data, state, el, byId, count } = explorer;
  const MOST = 200;
  const panel = byId("lineage");

  const kinRows = (step) => {
    const dump = explorer.dumpOf(step);
    const found = [];
    for (let row = 0; row < dump.lines.length; row += 1) if (explorer.isKin(dump, row)) found.push(row);
    return found;
  };

  const sources = () => {
    const text = explorer.dumpOf(0);
    const lines = [...new Set([...state.places].map((place) => data.places[place][0]))].sort((one, other) => one - other);
    const shown = lines.filter((line) => line <= text.lines.length).slice(0, MOST).map((line) => {
      const number = text.lines[line - 1];
      const code = el("code", {}, explorer.paint(number, 0, data.lines[number].length));
      return el("button", {
        type: "button", class: "source", "data-line": line, title: "Show it in the source",
        on: { click: () => explorer.reveal(0, line - 1) },
      }, el("span", { class: "no" }, String(line)), code);
    });
    return shown.length ? shown : [el("p", { class: "muted" }, "This line is of no operation that was written: it stands for itself.")];
  };

  const chips = (counts) => data.steps.map((step, at) => {
    if (step.kind === "failed") return null;
    const name = step.kind === "source" ? "source" : step.name;
    return el("button", {
      type: "button", class: `chip${step.changed ? "" : " same"}`, "data-step": at, "aria-pressed": String(at === state.step),
      title: `${count(counts[at], "line")} ${step.kind === "source" ? "in the source" : `after ${name}`}`,
      on: { click: () => explorer.show(at) },
    }, `${name} `, el("b", {}, String(counts[at])));
  }).filter(Boolean);

  const draw = () => {
    panel.classList.toggle("idle", !state.chosen);
    if (!state.chosen) {
      panel.replaceChildren("Click a line, or walk to it with the arrow keys, to see where it comes from and what it becomes.");
      return;
    }
    const counts = data.steps.map((_, at) => kinRows(at).length);
    const dump = explorer.dumpOf(state.step);
    const rows = kinRows(state.step);
    const lines = rows.slice(0, MOST).map((row) => {
      const number = dump.lines[row];
      return el("button", {
        type: "button", class: "became", "data-row": row, on: { click: () => explorer.reveal(state.step, row) },
      }, el("span", { class: "no" }, String(row + 1)), el("code", {}, explorer.paint(number, 0, 400)));
    });
    if (rows.length > MOST) lines.push(el("p", { class: "muted" }, `and ${count(rows.length - MOST, "line")} more`));
    const name = data.steps[state.step].kind === "source" ? "the source" : data.steps[state.step].name;
    const close = el("button", { type: "button", "aria-label": "Stop following the line", title: "Esc", on: { click: explorer.unfollow } }, "×");
    panel.replaceChildren(
      el("div", { role: "region", "aria-label": "Source", tabindex: "0" },
        el("div", { class: "head" }, el("h2", {}, "Written as")), ...sources()),
      el("div", { role: "region", "aria-label": "What it became", tabindex: "0" },
        el("div", { class: "head" }, el("h2", {}, "Became"), el("span", { class: "muted" }, `${count(rows.length, "line")} in ${name}`), close),
        el("div", { class: "chips", role: "group", "aria-label": "Passes, with how many lines of this origin" }, ...chips(counts)), ...lines));
  };
  explorer.on("start", draw);
  explorer.on("follow", draw);
  explorer.on("step", draw);
})();
