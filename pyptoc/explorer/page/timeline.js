// The modelled timeline: tasks by core, and a table of the launches.
"use strict";
(() => {
  const { data, state, el, byId, hue, count } = explorer;
  const view = byId("view-timeline");
  view.classList.add("scrolled");
  const time = data.timeline;
  if (time.reason !== undefined) {
    const give = time.reason.includes("--bind") ? "\n\nA case gives all sizes: --case=NAME. pyptoc FILE --describe lists both." : "";
    view.append(explorer.nothing(`No modelled timeline: ${time.reason}${give}`));
    return;
  }
  const ROW = 15, LEFT = 84, TOP = 20;
  const micro = (cycles) => (cycles / time.clock) * 1e6;
  const kernels = [...new Set(time.launches.map((launch) => launch.kernel))];
  const colorOf = (launch) => hue(kernels.indexOf(time.launches[launch].kernel));
  const title = (launch) => launch.kernel + (launch.tag ? ` [${launch.tag}]` : "");

  const byCore = time.cores.map(() => []);
  time.tasks.forEach((task, number) => task.slice(3).forEach((core) => byCore[core].push(number)));

  const canvas = el("canvas", { role: "img", "aria-label": `Tasks on ${time.cores.length} cores over ${time.total}; the table below has the launches` });
  const inside = el("div", {}, canvas);
  const lanes = el("div", { class: "lanes", tabindex: "0", role: "region", "aria-label": "Tasks by core; + and - zoom" }, inside);
  let zoom = 1;
  const span = () => {
    const wide = lanes.clientWidth - LEFT;
    const per = (wide * zoom) / Math.max(time.cycles, 1);
    return { wide, per, from: lanes.scrollLeft / per };
  };
  const high = TOP + time.cores.length * ROW + 6;

  const draw = () => {
    if (view.hidden) return;
    inside.style.width = `${LEFT + (lanes.clientWidth - LEFT) * zoom}px`;
    inside.style.height = `${high}px`;
    const { wide, per, from } = span();
    const ratio = devicePixelRatio || 1;
    canvas.width = (wide + LEFT) * ratio;
    canvas.height = high * ratio;
    canvas.style.width = `${wide + LEFT}px`;
    canvas.style.height = `${high}px`;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "11px system-ui, sans-serif";
    const paints = Object.fromEntries(["muted", "grid", "surface", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"].map((name) => [name, explorer.color(name)]));
    // A tick at each 1, 2 or 5 times a power of ten, about every 110 pixels.
    const rough = micro(110 / per), power = 10 ** Math.floor(Math.log10(rough));
    const every = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
    for (let at = Math.ceil(micro(from) / every) * every; micro(from + wide / per) >= at; at += every) {
      const x = LEFT + ((at / 1e6) * time.clock - from) * per;
      pen.fillStyle = paints.grid;
      pen.fillRect(x, TOP, 1, high);
      pen.fillStyle = paints.muted;
      pen.fillText(`${Number(at.toPrecision(6))} µs`, x + 3, 13);
    }
    byCore.forEach((tasks, core) => {
      const y = TOP + core * ROW;
      let until = -1;
      for (const number of tasks) {
        const [launch, start, cycles] = time.tasks[number];
        const x = LEFT + (start - from) * per, width = Math.max(cycles * per, 1);
        if (x + width < Math.max(LEFT, until) || x > LEFT + wide) continue;
        pen.fillStyle = paints[colorOf(launch)];
        const left = Math.max(x, LEFT);
        pen.fillRect(left, y + 1, Math.max(x + width - left - (width > 4 ? 1 : 0), 0.7), ROW - 3);
        until = x + width;
      }
      pen.fillStyle = paints.muted;
      pen.fillText(time.cores[core], 8, y + 11);
    });
  };
  const hit = (event) => {
    const { per, from } = span();
    const area = canvas.getBoundingClientRect();
    const core = Math.floor((event.clientY - area.top - TOP) / ROW);
    const cycle = from + (event.clientX - area.left - LEFT) / per;
    return (byCore[core] || []).find((number) => {
      const [, start, cycles] = time.tasks[number];
      return start <= cycle && cycle <= start + Math.max(cycles, 2 / per);
    });
  };
  canvas.addEventListener("pointermove", (event) => {
    const number = hit(event);
    if (number === undefined) { explorer.hint(event, ""); return; }
    const [launch, start, cycles] = time.tasks[number];
    explorer.hint(event, `${title(time.launches[launch])}\n${micro(start).toFixed(3)} to ${micro(start + cycles).toFixed(3)} µs (${cycles.toLocaleString("en")} cycles)`);
  });
  canvas.addEventListener("pointerleave", (event) => explorer.hint(event, ""));

  // Zooms about a point of the box, in pixels from its left edge.
  const zoomBy = (factor, x) => {
    const about = span().from + (x - LEFT) / span().per;
    zoom = Math.max(1, Math.min(2000, zoom * factor));
    draw();
    lanes.scrollLeft = about * span().per - (x - LEFT);
    draw();
  };
  lanes.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoomBy(event.deltaY < 0 ? 1.25 : 0.8, event.clientX - lanes.getBoundingClientRect().left);
  }, { passive: false });
  lanes.addEventListener("keydown", (event) => {
    const factor = { "+": 1.5, "=": 1.5, "-": 1 / 1.5, 0: 1 / zoom }[event.key];
    if (!factor) return;
    zoomBy(factor, LEFT + span().wide / 2);
    event.preventDefault();
    event.stopPropagation();
  });
  lanes.addEventListener("scroll", () => requestAnimationFrame(draw));
  new ResizeObserver(draw).observe(lanes);
  explorer.on("view", () => { if (state.view === "timeline") draw(); });
  explorer.on("theme", draw);
  explorer.timelineZoom = () => zoom;

  const lineOf = (place) => { const match = /:(\d+):\d+$/.exec(place); return match ? Number(match[1]) : 0; };
  const body = el("tbody");
  time.launches.slice(0, 500).forEach((launch, number) => {
    const key = el("span", { class: "key" });
    key.style.background = `var(--${colorOf(number)})`;
    const line = lineOf(launch.place);
    body.append(explorer.linkRow(() => explorer.revealSource(line),
      el("td", {}, key, title(launch)), el("td", { class: "number" }, line ? String(line) : ""),
      ...[`${micro(launch.start).toFixed(2)}`, launch.time, launch.tasks, launch.lanes, launch.waves].map((value) => el("td", { class: "number" }, String(value))),
      el("td", {}, launch.bound), el("td", {}, launch.busy)));
  });
  const zoomButton = (label, name, factor) => el("button", {
    type: "button", "aria-label": name, title: name, on: { click: () => zoomBy(factor(), LEFT + span().wide / 2) },
  }, label);
  view.append(
    el("div", { class: "facts" }, el("strong", {}, time.total), el("span", {}, `bound: ${time.bound}`), el("span", { class: "muted" }, `HBM traffic ${time.hbm}`),
      el("span", { class: "muted" }, "Modelled, not measured"), el("span", { class: "grow" }),
      el("span", {}, zoomButton("−", "Zoom out (-)", () => 1 / 1.5), " ", zoomButton("+", "Zoom in (+)", () => 1.5), " ", zoomButton("all", "Show all (0)", () => 1 / zoom))),
    time.assumed.length ? el("p", { class: "muted" }, `Values of ${time.assumed.join(", ")} were not given and are made up.`) : "",
    time.recorded.length ? el("p", { class: "muted" }, `Values of ${time.recorded.join(", ")} are from a run of the program.`) : "",
    time.left_out ? el("p", { class: "muted" }, `The first ${time.tasks.length.toLocaleString("en")} tasks are drawn; ${count(time.left_out, "task")} more are not.`) : "",
    lanes,
    el("table", {}, explorer.heads("launch", "line", "start µs", "time", "tasks", "cores", "waves", "bound", "busiest pipes"), body),
    time.launches.length > 500 ? el("p", { class: "muted" }, `and ${count(time.launches.length - 500, "launch", "launches")} more`) : "");
})();
