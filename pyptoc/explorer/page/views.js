// The tabs, and the remarks of all passes.
"use strict";
(() => {
  const { data, state, el, byId, count } = explorer;
  const remarks = data.steps.flatMap((step, at) => step.remarks.map((one) => ({ step: at, ...one })));
  const all = [...data.errors.map((one) => ({ step: explorer.last, ...one })), ...remarks];
  const VIEWS = [
    ["code", "Code", 0], ["remarks", "Remarks", all.length], ["memory", "Memory", 0],
    ["launches", "Task graph", data.launches.nodes.length], ["timeline", "Timeline", 0],
  ];
  explorer.viewNames = VIEWS.map(([name]) => name);

  const tabs = byId("tabs");
  VIEWS.forEach(([name, title, number], at) => tabs.append(el("button", {
    type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `view-${name}`, title: `Key ${at + 1}`,
    on: { click: () => explorer.view(name) },
  }, title, number ? el("span", { class: "badge" }, String(number)) : null)));
  tabs.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const names = explorer.viewNames;
    explorer.view(names[(names.indexOf(state.view) + step + names.length) % names.length]);
    byId(`tab-${state.view}`).focus();
    event.preventDefault();
    event.stopPropagation();
  });

  const select = () => {
    for (const name of explorer.viewNames) {
      const chosen = name === state.view;
      byId(`tab-${name}`).setAttribute("aria-selected", String(chosen));
      byId(`tab-${name}`).setAttribute("tabindex", chosen ? "0" : "-1");
      byId(`view-${name}`).hidden = !chosen;
    }
  };
  explorer.on("start", select);
  explorer.on("view", select);

  // A row of a table that leads to the code when clicked or entered.
  explorer.linkRow = (go, ...cells) => el("tr", {
    class: "link", tabindex: "0",
    on: { click: go, keydown: (event) => { if (event.key === "Enter") { go(); event.preventDefault(); } } },
  }, ...cells);
  explorer.heads = (...names) => el("thead", {}, el("tr", {}, ...names.map((name) => el("th", { scope: "col" }, name))));
  explorer.nothing = (text) => el("p", { class: "empty-view" }, text);

  // The line in the text after a pass that has the place of a remark; else the source.
  const lead = (one) => {
    const row = explorer.rowAt(explorer.dumpOf(one.step), one);
    if (row >= 0) explorer.reveal(one.step, row);
    else explorer.revealSource(one.line);
  };
  const source = (line) => {
    const text = line > 0 && explorer.dumpOf(0).lines[line - 1];
    return text === undefined || text === false ? "" : data.lines[text];
  };
  const view = byId("view-remarks");
  view.classList.add("scrolled");
  if (!all.length) {
    view.append(explorer.nothing("No pass had anything to say: nothing was refused, split or kept from overlapping."));
  } else {
    const body = el("tbody");
    for (const one of all) {
      body.append(explorer.linkRow(() => lead(one),
        el("td", {}, data.steps[one.step].name),
        el("td", {}, el("span", { class: `badge ${one.severity === "error" ? "" : "remarks"}` }, `${one.severity} ${one.code}`)),
        el("td", { class: "number" }, one.line ? String(one.line) : ""),
        el("td", { class: "wrap" }, one.message,
          one.details.length ? el("p", { class: "muted" }, one.details.join("  ")) : null,
          el("p", { class: "muted" }, el("code", {}, source(one.line).trim())))));
    }
    view.append(el("div", { class: "bar" }, el("h3", {}, `${count(all.length, "remark")} by pass and line`)),
      el("table", {}, explorer.heads("pass", "kind", "line", "what"), body));
  }
})();
