// The keyboard, the help and the colours; the page begins here, when all else is there.
"use strict";
(() => {
  const { byId, el, state } = explorer;
  const KEYS = [
    ["j  k  ↓  ↑", "next, previous pass"], ["n  p", "next, previous change of the pass"],
    ["/", "search all passes; Enter and Shift+Enter go through what is found"],
    ["↓  ↑  ←  →", "in the code: walk through lines and sides; the line is followed"],
    ["1 … 5", "code, remarks, memory, task graph, timeline"], ["f", "hide what is far from a change"],
    ["s", "match lines that differ only in numbers of values"], ["c", "hide passes that change nothing"],
    ["+  -  0", "in the timeline: zoom"], ["t", "light or dark"], ["Esc", "stop following a line, close"], ["?", "this help"],
  ];
  const dialog = byId("keys");
  const keyCaps = (keys) => keys.split("  ").flatMap((key) => [el("kbd", {}, key), " "]);
  dialog.append(el("h3", { id: "keys-title" }, "Keys"),
    el("dl", {}, ...KEYS.flatMap(([keys, what]) => [el("dt", {}, ...keyCaps(keys)), el("dd", {}, what)])),
    el("form", { method: "dialog" }, el("button", {}, "Close")));
  byId("help").addEventListener("click", () => dialog.showModal());

  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", () => explorer.emit("theme"));
  const root = document.documentElement;
  const theme = () => {
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    explorer.emit("theme");
  };
  byId("theme").addEventListener("click", theme);

  const inCode = (act) => () => { if (state.view !== "code") explorer.view("code"); act(); };
  const actions = {
    j: () => explorer.stepBy(1), k: () => explorer.stepBy(-1), ArrowDown: () => explorer.stepBy(1), ArrowUp: () => explorer.stepBy(-1),
    n: inCode(() => explorer.changeBy(1)), p: inCode(() => explorer.changeBy(-1)),
    f: () => byId("fold").click(), s: () => byId("renumber").click(), c: () => byId("only-changed").click(), t: theme,
    "/": () => { byId("search").focus(); byId("search").select(); }, "?": () => dialog.showModal(), Escape: explorer.unfollow,
  };
  explorer.viewNames.forEach((name, at) => { actions[at + 1] = () => explorer.view(name); });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    if (event.target.matches("input[type=search], select")) return;
    // A table or a panel that scrolls keeps its arrows.
    if (event.key.startsWith("Arrow") && event.target.closest(".scrolled, #lineage")) return;
    const act = actions[event.key];
    if (!act) return;
    act();
    event.preventDefault();
  });

  explorer.emit("start");
  byId("passes").focus({ preventScroll: true });
  requestAnimationFrame(() => { explorer.opened = performance.now(); });
})();
