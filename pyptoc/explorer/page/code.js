// The IR before and after a pass, side by side: only the rows in sight are elements.
"use strict";
(() => {
  const { data, state, el, byId, kinds } = explorer;
  const HEIGHT = 20, AROUND = 3, SPARE = 12;
  const box = byId("code"), spacer = byId("spacer"), holder = byId("rows"), across = byId("across"), ruler = byId("ruler");
  const panel = byId("view-code");
  let rows = [], changes = [], two = false, cursor = { row: -1, side: "b" }, charWidth = 7.5, firstColumn = 0;
  // The entries whose texts stand on the left and on the right.
  let sides = { a: 0, b: 0 };

  const isChange = (row) => row.kind >= kinds.removed && row.kind <= kinds.changed;

  // Errors stand below the first line that has their place.
  const withErrors = (shown, step) => {
    if (!data.errors.length || (step.kind !== "failed" && step.kind !== "source")) return shown;
    const dump = explorer.dumpOf(state.step);
    const notes = new Map();
    const isSource = dump === data.dumps[data.steps[0].dump];
    for (const error of data.errors) {
      let row = isSource ? error.line - 1 : explorer.rowAt(dump, error);
      if (row < 0 || row >= dump.lines.length) row = -1;
      const texts = [
        { tone: "error", text: `${error.severity}[${error.code}]: ${error.message}` + (error.place && row < 0 ? `  (${error.place})` : "") },
        ...[error.label, ...error.details].filter(Boolean).map((text) => ({ tone: "detail", text })),
      ];
      // What is wrong with all of an operation stands under its name.
      const name = /^[a-z]+(?:\.\w+)+/.exec(isSource && row >= 0 ? explorer.lineText(dump, row).slice(error.column - 1) : "");
      const length = error.length === 1 && name ? name[0].length : error.length;
      const caret = " ".repeat(Math.max(error.column - 1, 0)) + "^".repeat(Math.max(length, 1));
      if (isSource && row >= 0) texts.unshift({ tone: "caret", text: caret });
      notes.set(row, [...(notes.get(row) || []), ...texts]);
    }
    const rowsOf = (at) => (notes.get(at) || []).map((note) => ({ kind: kinds.note, a: -1, b: -1, ...note }));
    return [...rowsOf(-1), ...shown.flatMap((row) => [row, ...rowsOf(row.b)])];
  };

  const folded = (shown) => {
    const near = new Uint8Array(shown.length);
    shown.forEach((row, at) => {
      if (isChange(row)) near.fill(1, Math.max(0, at - AROUND), at + AROUND + 1);
    });
    const kept = [];
    for (let at = 0; at < shown.length; at += 1) {
      if (near[at]) { kept.push(shown[at]); continue; }
      let end = at;
      while (end < shown.length && !near[end]) end += 1;
      kept.push({ kind: kinds.fold, a: -1, b: -1, text: `${explorer.count(end - at, "line")} unchanged` });
      at = end - 1;
    }
    return kept;
  };

  const build = () => {
    const step = data.steps[state.step];
    const before = Math.max(state.step - 1, 0);
    two = state.step > 0 && data.steps[before].dump !== step.dump && step.changed;
    sides = { a: before, b: state.step };
    panel.classList.toggle("two", two);
    const all = two ? explorer.diff(data.steps[before].dump, step.dump, byId("renumber").checked)
      : Array.from(explorer.dumpOf(state.step).lines, (_, at) => ({ kind: kinds.same, a: -1, b: at }));
    rows = two && byId("fold").checked ? folded(all) : all;
    rows = withErrors(rows, step);
    changes = [];
    rows.forEach((row, at) => { if (isChange(row) && !(at && isChange(rows[at - 1]))) changes.push(at); });
    const left = explorer.dumpOf(state.step).left_out;
    if (left) rows = [...rows, { kind: kinds.note, a: -1, b: -1, tone: "detail", text: `${explorer.count(left, "line")} more are not in this page` }];
    spacer.style.height = `${rows.length * HEIGHT}px`;
    box.setAttribute("aria-rowcount", String(rows.length));
    cursor = { row: -1, side: "b" };
    glance = null;
    collectRemarks();
    title(step, all);
    measure();
  };

  const title = (step, all) => {
    const of = (kind) => all.filter((row) => row.kind === kind);
    const names = two ? [`before: ${data.steps[sides.a].name}`, `after: ${step.name}`]
      : [step.kind === "source" ? data.name : step.kind === "failed" ? `before ${step.name}, which failed` : `${step.name} changed nothing`];
    byId("titles").replaceChildren(...names.map((name) => el("span", {}, name)));
    byId("pass-title").replaceChildren(
      el("b", {}, step.kind === "source" ? "source" : step.name), step.options,
      el("span", { class: "muted" }, step.summary ? `  ${step.summary}` : step.kind === "failed" ? "  failed" : ""));
    const changed = of(kinds.changed).length, renumbered = of(kinds.renumbered).length;
    const removed = of(kinds.removed), plus = of(kinds.added).length + removed.filter((row) => row.b >= 0).length;
    byId("counts").replaceChildren(...(two ? [
      el("span", { class: "plus" }, `+${plus} `), el("span", { class: "minus" }, `−${removed.length} `),
      (changed ? `~${changed}` : "") + (renumbered ? ` · ${renumbered} renumbered` : ""),
    ] : [explorer.count(explorer.dumpOf(state.step).lines.length, "line")]));
  };

  // Columns: the width of a character, and how far lines reach.
  const measure = () => {
    const probe = el("span", { class: "cell", style: "position:absolute;visibility:hidden" }, "0".repeat(100));
    panel.append(probe);
    charWidth = probe.getBoundingClientRect().width / 100 || charWidth;
    probe.remove();
    const longest = (step) => explorer.dumpOf(step).lines.reduce((most, line) => Math.max(most, data.lines[line].length), 0);
    const most = two ? Math.max(longest(sides.a), longest(sides.b)) : longest(sides.b);
    const width = box.clientWidth / (two ? 2 : 1) - 80;
    across.firstElementChild.style.width = `${across.clientWidth + Math.max(0, (most + 4) * charWidth - width)}px`;
    firstColumn = Math.round(across.scrollLeft / charWidth);
  };

  // What the pass that is shown had to say, by the first line of the place; on the source,
  // what any pass had.
  let remarks = new Map();
  const collectRemarks = () => {
    const dump = explorer.dumpOf(state.step);
    const said = state.step === 0 ? data.steps.flatMap((step) => step.remarks) : data.steps[state.step].remarks;
    remarks = new Map();
    for (const one of said) {
      const row = explorer.rowAt(dump, one);
      remarks.set(row, [...(remarks.get(row) || []), one.message]);
    }
  };

  const partsOf = (row) => explorer.changedPart(
    explorer.lineText(explorer.dumpOf(sides.a), row.a), explorer.lineText(explorer.dumpOf(sides.b), row.b));

  const cell = (at, row, side, columns) => {
    const line = row[side];
    if (line < 0) return el("div", { class: "cell empty", role: "gridcell" });
    const dump = explorer.dumpOf(sides[side]);
    const number = dump.lines[line];
    const look = row.kind === kinds.same ? "" : row.kind === kinds.renumbered ? " renumber" : side === "a" ? " del" : " add";
    const sign = look === " del" ? "−" : look === " add" ? "+" : "";
    const changed = row.kind === kinds.changed ? partsOf(row)[side === "a" ? 0 : 1] : null;
    const text = el("code", {}, explorer.paint(number, Math.min(firstColumn, data.lines[number].length), firstColumn + columns, changed));
    const kin = explorer.isKin(dump, line) ? " kin" : "";
    const here = cursor.row === at && cursor.side === side ? " cursor" : "";
    const said = side === "b" && remarks.get(line);
    const attributes = { role: "gridcell", "data-side": side, id: here ? "cursor" : null, title: said ? said.join("\n") : null };
    return el("div", { class: `cell${look}${kin}${here}${said ? " remarked" : ""}`, ...attributes },
      el("span", { class: "no" }, String(line + 1)), el("span", { class: "sign" }, sign), text);
  };

  const element = (at, columns) => {
    const row = rows[at];
    const common = { role: "row", "aria-rowindex": at + 1, "data-row": at };
    if (row.kind === kinds.fold) return el("div", { ...common, class: "row wide fold" }, row.text);
    if (row.kind === kinds.note) {
      const shown = row.tone === "caret" ? el("span", { class: "cell" }, row.text.slice(firstColumn)) : row.text;
      return el("div", { ...common, class: `row wide ${row.tone === "caret" ? "error" : row.tone}` }, shown);
    }
    return el("div", { ...common, class: "row" }, ...(two ? ["a", "b"] : ["b"]).map((side) => cell(at, row, side, columns)));
  };

  const draw = () => {
    const first = Math.max(0, Math.floor(box.scrollTop / HEIGHT) - SPARE);
    const end = Math.min(rows.length, Math.ceil((box.scrollTop + box.clientHeight) / HEIGHT) + SPARE);
    const columns = Math.ceil(box.clientWidth / (two ? 2 : 1) / charWidth);
    const made = [];
    for (let at = first; at < end; at += 1) made.push(element(at, columns));
    holder.style.transform = `translateY(${first * HEIGHT}px)`;
    holder.replaceChildren(...made);
    if (holder.querySelector("#cursor")) box.setAttribute("aria-activedescendant", "cursor");
    else box.removeAttribute("aria-activedescendant");
    drawRuler();
  };

  // The whole text at a glance: changes and followed lines, drawn when they change, and
  // what is in sight.
  let glance = null;
  const scaleOf = () => Math.min(ruler.clientHeight / Math.max(rows.length, 1), HEIGHT);
  const drawRuler = () => {
    if (!glance || glance.height !== ruler.clientHeight) glance = drawGlance();
    const context = ruler.getContext("2d");
    ruler.height = ruler.clientHeight;
    context.globalAlpha = 0.6;
    context.fillStyle = explorer.color("line");
    context.fillRect(0, (box.scrollTop / HEIGHT) * scaleOf(), 14, Math.max((box.clientHeight / HEIGHT) * scaleOf(), 6));
    context.globalAlpha = 1;
    if (glance.height) context.drawImage(glance, 0, 0);
  };
  const drawGlance = () => {
    const drawn = el("canvas", { width: 14, height: ruler.clientHeight });
    const context = drawn.getContext("2d");
    const scale = scaleOf();
    const mark = (at, name, x, width) => {
      context.fillStyle = name;
      context.fillRect(x, at * scale, width, Math.max(scale, 2));
    };
    const paints = Object.fromEntries(["add-word", "del-word", "kin-edge", "bad"].map((name) => [name, explorer.color(name)]));
    rows.forEach((row, at) => {
      if (isChange(row)) {
        if (row.a >= 0) mark(at, paints["del-word"], 1, 5);
        if (row.b >= 0) mark(at, paints["add-word"], row.a >= 0 ? 6 : 1, row.a >= 0 ? 5 : 10);
      }
      if (row.kind === kinds.note && row.tone === "error") mark(at, paints.bad, 0, 14);
      if (["a", "b"].some((side) => row[side] >= 0 && explorer.isKin(explorer.dumpOf(sides[side]), row[side]))) mark(at, paints["kin-edge"], 11, 3);
    });
    return drawn;
  };
  ruler.addEventListener("click", (event) => {
    goTo(Math.floor(event.offsetY / scaleOf()));
  });

  let waiting = false;
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };
  // Moves sideways where a column is out of sight.
  const sideways = (column) => {
    const seen = Math.floor((box.clientWidth / (two ? 2 : 1) - 80) / charWidth) - 12;
    if (column < firstColumn || column > firstColumn + seen) across.scrollLeft = column < seen ? 0 : (column - 20) * charWidth;
  };
  const toChange = (at) => {
    goTo(at);
    if (rows[at].kind === kinds.changed) sideways(partsOf(rows[at])[1][0]);
  };
  const goTo = (at) => { box.scrollTop = Math.max(0, at * HEIGHT - box.clientHeight / 3); later(); };

  // Moves the cursor to a row and follows the line on it.
  const choose = (at, side) => {
    const row = rows[at];
    if (!row) return;
    const other = side === "a" ? "b" : "a";
    const taken = row[side] >= 0 ? side : two && row[other] >= 0 ? other : null;
    cursor = { row: at, side: taken || side };
    if (taken) explorer.follow(sides[taken], row[taken]);
    if (at * HEIGHT < box.scrollTop || (at + 1) * HEIGHT > box.scrollTop + box.clientHeight) goTo(at);
    later();
  };
  holder.addEventListener("click", (event) => {
    const row = event.target.closest("[data-row]");
    if (!row || String(getSelection())) return;
    if (rows[row.dataset.row].kind === kinds.fold) { byId("fold").click(); return; }
    const side = event.target.closest("[data-side]");
    if (side) choose(Number(row.dataset.row), side.dataset.side);
  });
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const top = Math.ceil(box.scrollTop / HEIGHT);
    const moves = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in moves) {
      const next = cursor.row < 0 ? top : cursor.row + moves[event.key];
      choose(Math.max(0, Math.min(rows.length - 1, next)), cursor.side);
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      choose(cursor.row < 0 ? top : cursor.row, event.key === "ArrowLeft" ? "a" : "b");
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  box.addEventListener("wheel", (event) => {
    const aside = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
    if (!aside || Math.abs(event.deltaX) < Math.abs(event.deltaY) && !event.shiftKey) return;
    across.scrollLeft += aside;
    event.preventDefault();
  }, { passive: false });
  box.addEventListener("scroll", later);
  across.addEventListener("scroll", () => { firstColumn = Math.round(across.scrollLeft / charWidth); later(); });
  new ResizeObserver(() => { measure(); later(); }).observe(box);

  // The row of a line of the text on a side; -1 where it is folded away.
  const rowOf = (side, line) => rows.findIndex((row) => row[side] === line);

  const open = () => {
    build();
    const kin = state.places.size ? rows.findIndex((row) => row.b >= 0 && explorer.isKin(explorer.dumpOf(sides.b), row.b)) : -1;
    const bad = rows.findIndex((row) => row.kind === kinds.note && row.tone === "error");
    // Another pass starts at the left; n and p move sideways to what changed.
    across.scrollLeft = firstColumn = 0;
    goTo(bad < 0 && kin < 0 && changes.length ? changes[0] : Math.max(bad, kin, 0));
    draw();
  };
  explorer.on("start", open);
  explorer.on("step", open);
  const afresh = () => { glance = null; later(); };
  explorer.on("follow", afresh);
  explorer.on("search", later);
  explorer.on("theme", afresh);
  explorer.on("view", () => { if (state.view === "code") { measure(); later(); } });
  explorer.on("reveal", () => {
    const { row } = state.chosen;
    let at = rowOf("b", row);
    if (at < 0 && byId("fold").checked) { byId("fold").checked = false; build(); at = rowOf("b", row); }
    cursor = { row: at, side: "b" };
    goTo(at);
  });
  const rebuild = () => { build(); goTo(changes.length ? changes[0] : 0); };
  byId("fold").addEventListener("change", rebuild);
  byId("renumber").addEventListener("change", rebuild);

  // The change after or before the one at the top third of what is in sight.
  explorer.changeBy = (direction) => {
    if (!changes.length) return;
    const here = cursor.row >= 0 ? cursor.row : Math.round((box.scrollTop + box.clientHeight / 3) / HEIGHT);
    const next = direction > 0 ? changes.find((at) => at > here) : changes.findLast((at) => at < here);
    const at = next ?? (direction > 0 ? changes[0] : changes[changes.length - 1]);
    cursor = { row: at, side: rows[at].b >= 0 ? "b" : "a" };
    toChange(at);
  };
  byId("next").addEventListener("click", () => explorer.changeBy(1));
  byId("previous").addEventListener("click", () => explorer.changeBy(-1));
  explorer.codeRows = () => rows;
  explorer.codeSides = () => sides;
  explorer.goToRow = (at, side, column = 0) => {
    cursor = { row: at, side };
    goTo(at);
    sideways(column);
  };
  explorer.cursor = () => cursor;
})();
