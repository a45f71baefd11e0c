// The pipeline on the left: time, operations, and what each pass changed.
"use strict";
(() => {
  const { data, state, el, byId, seconds, count } = explorer;
  const list = byId("passes");
  const DIALECTS = ["pypto", "npu", "tile", "arith", "other"];
  const dialectOf = (op) => {
    const name = op.split(".")[0];
    return name === "math" ? "arith" : DIALECTS.includes(name) ? name : "other";
  };
  const sum = (ops) => Object.values(ops).reduce((total, each) => total + each, 0);

  const mix = (ops) => {
    const shares = new Map(DIALECTS.map((name) => [name, 0]));
    for (const [op, times] of Object.entries(ops)) shares.set(dialectOf(op), shares.get(dialectOf(op)) + times);
    const bar = el("span", { class: "mix", "aria-hidden": "true" });
    for (const [name, share] of shares) {
      const part = el("i");
      part.style.flex = String(share);
      part.style.background = `var(--d-${name})`;
      bar.append(part);
    }
    return bar;
  };

  const change = (ops, before) => {
    const difference = sum(ops) - sum(before);
    return difference ? ` ${difference > 0 ? "+" : "−"}${Math.abs(difference)}` : "";
  };

  const entry = (step, at) => {
    const before = at > 0 ? data.steps[at - 1].ops : {};
    const hasOps = step.kind === "pass" || step.kind === "parse";
    const ops = hasOps ? count(sum(step.ops), "op") + (step.kind === "pass" ? change(step.ops, before) : "")
      : step.kind === "source" ? count(explorer.dumpOf(at).lines.length, "line") : count(data.errors.length, "error");
    const look = step.kind === "failed" ? "failed" : step.changed ? "changed" : "same";
    const top = Object.entries(step.ops).slice(0, 12).map(([op, times]) => `${times} ${op}`).join("\n");
    const title = step.kind === "source" ? data.name.split("/").pop() : step.name;
    return el(
      "li",
      {
        id: `pass-${at}`, class: `pass ${look}`, role: "option", "aria-selected": "false", "data-step": at,
        "aria-label": `${title}: ${ops}, ${look === "same" ? "unchanged" : look}`,
        title: [title + step.options, step.summary, top].filter(Boolean).join("\n"),
        on: { click: () => { if (state.view !== "code") explorer.view("code"); explorer.show(at); } },
      },
      el("span", { class: "dot" }), el("span", { class: "title" }, title),
      el("span", { class: "time" }, hasOps ? seconds(step.seconds) : ""),
      el("span", { class: "ops" }, ops + (look === "same" ? " · unchanged" : "")),
      el("span", { class: "more" }, step.remarks.length ? el("span", { class: "badge remarks", title: "remarks" }, String(step.remarks.length)) : null,
        el("span", { class: "badge found", hidden: "", title: "found" })),
      hasOps ? mix(step.ops) : null,
    );
  };
  list.append(...data.steps.map(entry));

  const select = () => {
    list.querySelectorAll(".pass").forEach((item, at) => item.setAttribute("aria-selected", String(at === state.step)));
    list.setAttribute("aria-activedescendant", `pass-${state.step}`);
    byId(`pass-${state.step}`).scrollIntoView({ block: "nearest" });
  };
  explorer.on("step", select);
  explorer.on("start", select);
  // How often the search word stands in each text.
  explorer.badges = (counts) => list.querySelectorAll(".found").forEach((badge, at) => {
    badge.hidden = !counts || !counts[at];
    badge.textContent = counts ? String(counts[at]) : "";
  });

  const passes = data.steps.filter((step) => step.kind === "pass");
  const total = data.steps.reduce((time, step) => time + step.seconds, 0);
  byId("name").textContent = data.name;
  byId("facts").textContent = [
    data.machine, count(passes.length, "pass", "passes"),
    `${passes.filter((step) => step.changed).length} changed the IR`, seconds(total),
    explorer.failed ? "does not compile" : "",
  ].filter(Boolean).join("  ·  ");
  byId("only-changed").addEventListener("change", (event) => list.classList.toggle("only-changed", event.target.checked));

  list.addEventListener("keydown", (event) => {
    if (event.key !== "Home" && event.key !== "End") return;
    explorer.show(event.key === "Home" ? 0 : explorer.last);
    event.preventDefault();
  });

  // The next entry that is shown in the list, in a direction.
  explorer.stepBy = (direction) => {
    let at = state.step + direction;
    const hides = byId("only-changed").checked;
    while (hides && data.steps[at] && byId(`pass-${at}`).classList.contains("same")) at += direction;
    if (data.steps[at]) explorer.show(at);
  };
})();
