// The task graph: launches in program order, and arcs to those that wait for them.
"use strict";
(() => {
  const { data, el, svg, byId, count } = explorer;
  const { nodes, edges } = data.launches;
  const view = byId("view-launches");
  view.classList.add("scrolled");
  const HIGH = 50, INDENT = 26, WIDEST = 380;

  if (!nodes.length) {
    view.append(explorer.nothing(explorer.failed ? "The program did not compile, so there are no launches."
      : "There are no launches: the pipeline ends before tasks have buffers."));
    return;
  }

  // A lane for each arc, so that none lies on another: short ones first.
  const lanes = [];
  const arcs = edges.map((edge, number) => ({ ...edge, number, low: Math.min(edge.from, edge.to), high: Math.max(edge.from, edge.to) }));
  [...arcs].sort((one, other) => (one.high - one.low) - (other.high - other.low)).forEach((arc) => {
    let lane = lanes.findIndex((taken) => taken.every(([low, high]) => arc.high <= low || arc.low >= high));
    if (lane < 0) lane = lanes.push([]) - 1;
    lanes[lane].push([arc.low, arc.high]);
    arc.lane = lane;
  });
  const pitch = Math.min(14, WIDEST / Math.max(lanes.length, 1));
  const margin = lanes.length * pitch + 34;
  const middle = (at) => at * HIGH + HIGH / 2 + 6;
  const leftOf = (node) => margin + node.loops.length * INDENT;

  const drawing = svg("svg", { width: margin + 400, height: nodes.length * HIGH + 12, "aria-hidden": "true" });
  const marker = svg("marker", { id: "tip-of-arc", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" });
  const head = svg("path", { d: "M0,0 L8,4 L0,8 z" });
  head.style.fill = "var(--muted)";
  marker.append(head);
  const definitions = svg("defs");
  definitions.append(marker);
  drawing.append(definitions);
  for (const arc of arcs) {
    const x = margin - 20 - arc.lane * pitch;
    const [y, end] = [middle(arc.from) + 7, middle(arc.to) - 7];
    const [from, to] = [leftOf(nodes[arc.from]), leftOf(nodes[arc.to])];
    const bend = Math.min(8, Math.abs(end - y) / 2) * Math.sign(end - y || 1);
    arc.path = svg("path", {
      class: `edge${arc.carried ? " carried" : ""}`, "marker-end": "url(#tip-of-arc)",
      d: `M${from},${y} L${x + 8},${y} Q${x},${y} ${x},${y + bend} L${x},${end - bend} Q${x},${end} ${x + 8},${end} L${to - 1},${end}`,
    });
    drawing.append(arc.path);
  }

  const waitsOf = (at) => arcs.filter((arc) => arc.to === at)
    .map((arc) => `${nodes[arc.from].name} ${arc.text}${arc.carried ? ", of an earlier trip" : ""}`);
  const buttons = nodes.map((node, at) => {
    const waits = waitsOf(at);
    const made = el("button", {
      type: "button", class: `node ${node.kind}`, "data-node": at, title: waits.length ? `waits for\n${waits.join("\n")}` : "waits for nothing",
      on: {
        click: () => explorer.reveal(explorer.last, node.row), pointerenter: () => highlight(at), pointerleave: () => highlight(-1),
        focus: () => highlight(at), blur: () => highlight(-1),
      },
    }, el("b", {}, (node.kind === "read" ? "" : "@") + node.name), node.tag ? el("span", { class: "badge" }, node.tag) : null,
    el("span", { class: "muted" }, node.grid ? `${node.grid} task${node.grid === "1" ? "" : "s"}` : ""),
    el("span", { class: "waits" }, waits.length ? `after ${waits.join(" · ")}` : "waits for nothing"));
    made.style.top = `${at * HIGH + 14}px`;
    made.style.left = `${leftOf(node)}px`;
    return made;
  });
  const highlight = (at) => {
    const mine = at < 0 ? [] : arcs.filter((arc) => arc.from === at || arc.to === at);
    for (const arc of arcs) {
      arc.path.classList.toggle("on", mine.includes(arc));
      arc.path.classList.toggle("off", at >= 0 && !mine.includes(arc));
    }
    const near = new Set(mine.flatMap((arc) => [arc.from, arc.to]));
    buttons.forEach((button, number) => button.classList.toggle("on", near.has(number) || number === at));
  };

  // A frame around the launches of a loop: runs of nodes that share the same loops.
  const frames = [];
  const depth = Math.max(...nodes.map((node) => node.loops.length));
  for (let level = 0; level < depth; level += 1) {
    for (let at = 0; at < nodes.length; at += 1) {
      if (nodes[at].loops.length <= level) continue;
      const [number, word] = nodes[at].loops[level];
      let end = at;
      while (end + 1 < nodes.length && nodes[end + 1].loops.length > level && nodes[end + 1].loops[level][0] === number) end += 1;
      const frame = el("div", { class: "loop" }, word);
      frame.style.top = `${at * HIGH + 2 - level}px`;
      frame.style.height = `${(end - at + 1) * HIGH + 6 + 2 * level}px`;
      frame.style.left = `${margin + level * INDENT - 4}px`;
      frames.push(frame);
      at = end;
    }
  }
  const graph = el("div", { class: "graph", role: "group", "aria-label": "Launches in program order" }, ...frames, drawing, ...buttons);
  graph.style.height = `${nodes.length * HIGH + 14}px`;
  const launches = nodes.filter((node) => node.kind !== "read").length;
  view.append(el("div", { class: "bar" }, el("h3", {}, `${count(launches, "launch", "launches")}, ${count(edges.length, "wait")}`),
    el("span", { class: "muted" }, "Arcs lead from a launch to those that wait for its tasks; dashed ones from an earlier trip of the loop. Click one for its line.")), graph);
})();
