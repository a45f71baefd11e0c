// The plots without a time axis: roofs, utilisation, bytes, rooflines.
"use strict";
(() => {
  const { data, text } = report;
  const draw = (id, make) => {
    const box = document.getElementById(id);
    if (!box) return;
    report.plot(() => {
      const { traces, layout } = make();
      return Plotly.react(box, traces, report.layout(layout), { ...report.config, displayModeBar: false });
    });
  };
  const bars = (names, values, label, hue) => ({
    type: "bar", orientation: "h", y: names.map(text), x: values, text: values.map(label),
    textposition: "auto", hoverinfo: "y+text", marker: { color: report.color(hue) },
    cliponaxis: false,
  });

  draw("plot-roofs", () => {
    const roofs = [...data.roofs].sort((a, b) => a.near - b.near);
    const values = roofs.map((roof) => roof.near * 100);
    return {
      traces: [bars(roofs.map((roof) => roof.name), values, (value) => value.toFixed(1) + " %", "c0")],
      layout: {
        height: 60 + 30 * roofs.length, dragmode: false,
        xaxis: { range: [0, 108], ticksuffix: " %", fixedrange: true },
        yaxis: { fixedrange: true, showgrid: false },
        shapes: [{ type: "line", x0: 100, x1: 100, y0: 0, y1: 1, yref: "paper",
          line: { color: report.color("c1"), width: 2 } }],
      },
    };
  });

  draw("plot-use", () => {
    const units = ["cube", "vector"].map((unit) => data.cores.filter((core) => core.unit === unit))
      .filter((cores) => cores.some((core) => core.tasks));
    const scale = [[0, report.color("low")], [0.5, report.color("mid")], [1, report.color("high")]];
    const layout = { height: 0, coloraxis: { cmin: 0, cmax: 100, colorscale: scale,
      colorbar: { ticksuffix: " %", thickness: 12, outlinewidth: 0 } } };
    const counts = units.map((cores) => Object.keys(cores[0].busy).length);
    const all = counts.reduce((sum, count) => sum + count, 0) || 1;
    let top = 1;
    const traces = units.map((cores, n) => {
      const pipes = Object.keys(cores[0].busy);
      const axis = n ? String(n + 1) : "";
      const part = pipes.length / all;
      const bottom = n === units.length - 1 ? 0 : top - part + 0.9 / all;
      layout["yaxis" + axis] = { domain: [bottom, top], autorange: "reversed",
        fixedrange: true, showgrid: false };
      layout["xaxis" + axis] = { anchor: "y" + axis, fixedrange: true, showgrid: false,
        title: { text: `${cores[0].unit} core`, standoff: 4 } };
      top -= part;
      return {
        type: "heatmap", coloraxis: "coloraxis", xaxis: "x" + axis, yaxis: "y" + axis, xgap: 1, ygap: 1,
        z: pipes.map((pipe) => cores.map((core) => core.busy[pipe] * 100)),
        x: cores.map((core) => Number(core.name.split(" ")[1])), y: pipes,
        hovertemplate: `${cores[0].unit} core %{x}, %{y}: %{z:.1f} %<extra></extra>`,
      };
    });
    layout.height = 70 + 42 * all;
    return { traces, layout };
  });

  draw("plot-bytes", () => {
    const paths = Object.entries(data.paths).sort((a, b) => a[1] - b[1]);
    return {
      traces: [bars(paths.map((path) => path[0]), paths.map((path) => path[1]),
        (value) => report.short(value) + "B", "c0")],
      layout: { height: 60 + 30 * paths.length, dragmode: false,
        xaxis: { fixedrange: true, ticksuffix: "B" }, yaxis: { fixedrange: true, showgrid: false } },
    };
  });

  const words = {
    cube: { work: "operations a byte", rate: "operations a second" },
    vector: { work: "vector pipe cycles a byte", rate: "busy vector cores" },
  };
  for (const name of Object.keys(words)) {
    draw("plot-roofline-" + name, () => {
      const line = data.roofline[name], hues = ["c1", "c0", "c2", "c3", "c4", "c5"];
      const peaks = Object.values(line.peaks), peak = Math.max(...peaks);
      const xs = line.points.flatMap((p) => [p.work / (p.hbm || p.l2), p.work / p.l2])
        .filter((x) => x > 0 && isFinite(x));
      const low = Math.min(...xs, peak / line.l2) / 3, high = Math.max(...xs, peak / line.hbm) * 3;
      const roof = (label, rate, dash) => {
        const knee = Math.min(Math.max(peak / rate, low), high);
        return { type: "scatter", mode: "lines", name: label, x: [low, knee], y: [low * rate, knee * rate],
          line: { color: report.color("muted"), width: 1.5, dash }, hoverinfo: "name" };
      };
      const points = (label, symbol, bytes) => ({
        type: "scatter", mode: "markers", name: label,
        x: line.points.map((p) => (p[bytes] ? p.work / p[bytes] : null)), y: line.points.map((p) => p.rate),
        text: line.points.map((p) => text(p.name)),
        hovertemplate: `%{text}<br>%{x:.3s} ${words[name].work}<br>%{y:.3s} ${words[name].rate}<extra>${label}</extra>`,
        marker: { symbol, size: 11, color: line.points.map((_, n) => report.color(hues[n % hues.length])),
          line: { width: 2, color: line.points.map((_, n) => report.color(hues[n % hues.length])) } },
      });
      return {
        traces: [
          roof("HBM", line.hbm, "solid"), roof("L2", line.l2, "dash"),
          ...Object.entries(line.peaks).map(([label, value]) => ({
            type: "scatter", mode: "lines", name: text(label), hoverinfo: "name",
            x: [Math.max(low, value / line.l2), high], y: [value, value],
            line: { color: report.color("c6"), width: 1.5, dash: "dot" } })),
          points("from HBM", "circle", "hbm"), points("through L2", "diamond-open", "l2"),
        ],
        layout: {
          height: 400, showlegend: true,
          xaxis: { type: "log", title: { text: words[name].work }, dtick: 1, tickformat: "~s" },
          yaxis: { type: "log", title: { text: words[name].rate }, dtick: 1, tickformat: "~s" },
        },
      };
    });
  }
})();
