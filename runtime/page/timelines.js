// The timelines: tasks on all cores, and pipes and memory of one core.
"use strict";
(() => {
  const { data, text, time } = report;
  const total = time(data.cycles) || 1;
  const { tasks, launches } = data;
  const hues = ["c0", "c2", "c3", "c4", "c5", "c7", "c1", "c6"];
  const pipeHue = { mte2: "c0", mte1: "c2", m: "c1", fix: "c4", v: "c3", mte3: "c5", s: "c6" };
  const kernels = [...new Set(launches.map((launch) => launch.name))];
  const kernelHue = (name) => hues[kernels.indexOf(name) % hues.length];
  const span = (start, end) =>
    `${start.toFixed(3)} to ${end.toFixed(3)} us (${(end - start).toFixed(3)} us)`;

  // Tasks by core: [number of the task, which of its cores this is].
  const byCore = data.cores.map(() => []);
  tasks.launch.forEach((launch, task) =>
    data.lanes[launch][tasks.lane[task]].forEach((core, position) => byCore[core].push([task, position])));
  const used = data.cores.map((_, core) => core).filter((core) => byCore[core].length);

  const taskSlice = (task) => {
    const name = launches[tasks.launch[task]].name;
    const start = time(tasks.start[task]), end = start + time(tasks.cycles[task]);
    return {
      start, end, color: kernelHue(name), label: name,
      text: () => `<b>${text(name)}</b><br>task (${tasks.grid[task]})<br>${span(start, end)}`
        + (tasks.record[task] < 0 ? "<br>without instructions" : ""),
    };
  };
  const rows = (cores) => cores.map((core, place) => {
    const row = new Row(place, 0.86);
    row.slices = byCore[core].map(([task]) => taskSlice(task));
    return row;
  });
  const legend = (names, hue) => names.map((name) => ({
    type: "scatter", mode: "markers", x: [null], y: [null], name: text(name), showlegend: true,
    marker: { symbol: "square", size: 11, color: report.color(hue(name)) }, hoverinfo: "skip",
  }));

  const taskRows = rows(used);
  const every = Math.ceil(used.length / 32);
  const labelled = used.map((_, place) => place).filter((place) => place % every === 0);
  const taskHeight = Math.min(Math.max(used.length * 16, 120), 640);
  report.timeline("plot-tasks", total, (from, to, pixels) => {
    const curves = [["HBM", "c1"], ["L2", "c6"]].map(([name, hue]) => ({
      type: "scatter", mode: "lines", name: `${name} bandwidth`, yaxis: "y2", showlegend: true,
      x: data.bandwidth[name].cycles.map(time), y: data.bandwidth[name].rates,
      line: { shape: "hv", width: 1.6, color: report.color(hue) },
      hovertemplate: `${name} %{y:.0f} GB/s at %{x:.2f} us<extra></extra>`,
    }));
    const lower = 150 / (taskHeight + 170);
    return {
      traces: [
        ...report.bars(taskRows, from, to, pixels, {}, used.length <= 40), ...curves,
        ...legend(kernels, kernelHue),
      ],
      layout: {
        height: taskHeight + 250, showlegend: true,
        xaxis: { anchor: "y2" },
        yaxis: {
          domain: [lower + 0.03, 1], autorange: false, range: [used.length - 0.5, -0.5],
          fixedrange: true, showgrid: false,
          tickvals: labelled, ticktext: labelled.map((place) => text(data.cores[used[place]].name)),
        },
        yaxis2: { domain: [0, lower], rangemode: "tozero", fixedrange: true, title: { text: "GB/s" } },
      },
    };
  });

  // One core.
  const coreMenu = document.getElementById("core"), spaceMenu = document.getElementById("space");
  used.forEach((core) => coreMenu.add(new Option(data.cores[core].name, core)));
  if (used.includes(data.core)) coreMenu.value = data.core;
  const spacesOf = (core) => {
    const found = new Set();
    for (const [task, position] of byCore[core]) {
      const record = data.records[tasks.record[task]];
      if (record) record.buffers.forEach((held) => held[0] === position && found.add(held[1]));
    }
    return Object.keys(data.spaces).filter((name) => found.has(name));
  };
  let shown = null;
  const gather = () => {
    const core = Number(coreMenu.value);
    const names = spacesOf(core);
    const before = spaceMenu.value;
    spaceMenu.replaceChildren(...names.map((name) => new Option(name, name)));
    spaceMenu.value = names.includes(before) ? before : names.includes("l1") ? "l1" : names[0] || "";
    const pipes = new Map([["task", new Row(0, 0.8)]]);
    const memory = new Map();
    const colors = new Map();
    for (const [task, position] of byCore[core] || []) {
      pipes.get("task").slices.push(taskSlice(task));
      const record = data.records[tasks.record[task]];
      if (!record) continue;
      const begin = tasks.start[task];
      for (const [op, where, at, cycles, sizes] of record.instructions) {
        if (where !== position) continue;
        const { name, pipe, tag, line } = data.ops[op];
        if (!pipes.has(pipe)) pipes.set(pipe, new Row(0, 0.8));
        const start = time(begin + at), end = time(begin + at + cycles);
        pipes.get(pipe).slices.push({
          start, end, color: pipeHue[pipe], label: name,
          text: () => `<b>${text(name)}</b> ${text(tag)}<br>${text(sizes)}, ${cycles} cycles<br>`
            + `${span(start, end)}<br>${text(line)}<br>task (${tasks.grid[task]})`,
        });
      }
      for (const [where, space, address, bytes, at, cycles, name, writer, buffer] of record.buffers) {
        if (where !== position || space !== spaceMenu.value) continue;
        const key = address + " " + bytes;
        if (!memory.has(key)) memory.set(key, new Row((address + bytes / 2) / 1024, bytes / 1024));
        const source = tasks.launch[task] + " " + buffer;
        if (!colors.has(source)) colors.set(source, hues[colors.size % hues.length]);
        const start = time(begin + at), end = time(begin + at + cycles);
        memory.get(key).slices.push({
          start, end, color: colors.get(source), label: name,
          text: () => `<b>${text(name)}</b> filled by ${text(writer)}<br>`
            + `${address} to ${address + bytes} (${report.short(bytes)}B)<br>${span(start, end)}`,
        });
      }
    }
    const order = ["task", ...data.pipes].filter((name) => pipes.has(name));
    order.forEach((name, place) => { pipes.get(name).place = place; });
    for (const row of memory.values()) row.slices.sort((a, b) => a.start - b.start);
    shown = { order, pipes: order.map((name) => pipes.get(name)), memory: [...memory.values()] };
  };
  gather();
  const pipesPlot = report.timeline("plot-pipes", total, (from, to, pixels) => {
    const size = (data.spaces[spaceMenu.value] || 1024) / 1024;
    const upper = Math.max(shown.order.length * 30, 90);
    const share = (upper + 20) / (upper + 300);
    return {
      traces: [
        ...report.bars(shown.pipes, from, to, pixels, {}),
        ...report.bars(shown.memory, from, to, pixels, { yaxis: "y2" }),
      ],
      layout: {
        height: upper + 330,
        xaxis: { anchor: "y2" },
        yaxis: {
          domain: [1 - share + 0.03, 1], autorange: false, range: [shown.order.length - 0.5, -0.5],
          fixedrange: true, showgrid: false,
          tickvals: shown.order.map((_, place) => place), ticktext: shown.order,
        },
        yaxis2: {
          domain: [0, 1 - share - 0.03], autorange: false, range: [size, 0], fixedrange: true,
          title: { text: `${text(spaceMenu.value)} address, KiB` },
        },
      },
    };
  });
  // The first tasks of the core, not the whole program, where there are many.
  const focus = () => {
    const own = shown.pipes[0].slices;
    if (own.length) pipesPlot.show(own[0].start, own[Math.min(1, own.length - 1)].end);
  };
  coreMenu.addEventListener("change", () => { gather(); focus(); });
  spaceMenu.addEventListener("change", () => { gather(); pipesPlot.draw(); });
  focus();
})();
