// A word in all passes: marked where it is seen, counted in the pipeline.
"use strict";
(() => {
  const { data, state, byId } = explorer;
  const input = byId("search"), output = byId("hits");
  let counts = null, hits = [], current = -1;

  // Rows of the shown texts with the word, the side that is after the pass first.
  const find = () => {
    const word = state.search;
    const known = new Map();
    const has = (number) => {
      if (!known.has(number)) known.set(number, data.lines[number].toLowerCase().includes(word));
      return known.get(number);
    };
    hits = [];
    if (!word) return;
    const sides = explorer.codeSides();
    explorer.codeRows().forEach((row, at) => {
      const side = ["b", "a"].find((each) => row[each] >= 0 && has(explorer.dumpOf(sides[each]).lines[row[each]]));
      if (!side) return;
      const text = explorer.lineText(explorer.dumpOf(sides[side]), row[side]).toLowerCase();
      hits.push([at, side, text.indexOf(word)]);
    });
  };

  const say = () => {
    const total = counts ? counts.reduce((sum, each) => sum + each, 0) : 0;
    output.textContent = !state.search ? "" : hits.length ? `${Math.max(current, 0) + 1}/${hits.length} · ${total}` : total ? `0 · ${total}` : "none";
    output.title = "in this pass · in all";
  };

  const look = () => {
    state.search = input.value.toLowerCase();
    counts = null;
    if (state.search) {
      const has = data.lines.map((text) => text.toLowerCase().includes(state.search));
      const inDump = data.dumps.map((dump) => dump.lines.reduce((sum, line) => sum + has[line], 0));
      counts = data.steps.map((step) => inDump[step.dump]);
    }
    explorer.badges(counts);
    find();
    const { row } = explorer.cursor();
    current = hits.findIndex(([at]) => at >= row);
    if (current >= 0) explorer.goToRow(...hits[current]);
    say();
    explorer.emit("search");
  };

  // The next hit; after the last one here, the next pass that has some.
  const go = (direction) => {
    if (state.view !== "code") explorer.view("code");
    const next = current + direction;
    if (hits[next]) current = next;
    else {
      const order = data.steps.map((_, at) => (state.step + direction * (at + 1) + 2 * data.steps.length) % data.steps.length);
      const step = order.find((at) => counts && counts[at] && at !== state.step && data.steps[at].changed);
      if (step !== undefined) explorer.show(step);
      current = direction > 0 ? 0 : hits.length - 1;
    }
    if (hits[current]) explorer.goToRow(...hits[current]);
    say();
  };

  input.addEventListener("input", look);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      input.value = "";
      look();
      byId("code").focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  explorer.on("step", () => { find(); current = -1; say(); });
})();
