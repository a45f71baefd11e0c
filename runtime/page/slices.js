// Slices of time in rows: those in sight, with those too narrow to see put together.
"use strict";

// A row: slices in order of start, none of them beginning before the one ahead of it.
class Row {
  constructor(place, height) {
    this.place = place; // in the y axis
    this.height = height;
    this.slices = []; // { start, end, color, text() } in microseconds
  }
  first(time) { // the first slice that may reach beyond a time
    let low = 0, high = this.slices.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.slices[middle].start < time) low = middle + 1; else high = middle;
    }
    while (low > 0 && this.slices[low - 1].end > time) low -= 1;
    return low;
  }
}

// Bars for the rows between two times; `pixels` is how wide the plot is.
// Slices have labels where they are wide enough, unless `labels` is false. At most some
// thousand bars are drawn: narrow slices are put together in bars as dark as they are busy.
const MOST_BARS = 6000;
report.bars = (rows, from, to, pixels, axes, labels = true) => {
  const pixel = (to - from) / pixels;
  const narrow = Math.max(2, (rows.length * pixels) / MOST_BARS) * pixel;
  const traces = new Map();
  const add = (row, start, end, color, text, label, busy) => {
    if (!traces.has(color)) {
      traces.set(color, {
        type: "bar", orientation: "h", base: [], x: [], y: [], width: [], hovertext: [], text: [],
        hoverinfo: "text", textposition: "inside", insidetextanchor: "start", textangle: 0,
        constraintext: "none", cliponaxis: true, showlegend: false,
        insidetextfont: { color: "#ffffff", size: 10 },
        marker: { color: report.color(color), opacity: [],
          line: { color: report.color("surface"), width: 0.6 } },
        meta: color, ...axes,
      });
    }
    const trace = traces.get(color);
    trace.marker.opacity.push(busy === 1 ? 1 : 0.2 + 0.65 * busy);
    trace.base.push(start); trace.x.push(end - start);
    trace.y.push(row.place); trace.width.push(row.height);
    trace.hovertext.push(text); trace.text.push(label);
  };
  for (const row of rows) {
    let run = null;
    const flush = () => {
      if (!run) return;
      const { start, end, color, count, text, busy } = run;
      const share = busy / (end - start || 1);
      if (count === 1) add(row, start, end, color, text(), "", 1);
      else add(row, start, end, color,
        `${count} slices, ${(100 * share).toFixed(0)} % of this stretch<br>zoom in to see them`,
        "", Math.min(share, 0.999));
      run = null;
    };
    for (let n = row.first(from); n < row.slices.length; n += 1) {
      const slice = row.slices[n];
      if (slice.start > to) break;
      const wide = slice.end - slice.start;
      if (wide >= narrow) {
        flush();
        const room = wide / pixel;
        const label = slice.label || "";
        add(row, slice.start, slice.end, slice.color, slice.text(),
          labels && room > 7 * label.length + 8 ? report.text(label) : "", 1);
        continue;
      }
      if (run && (slice.start - run.end > narrow / 2 || run.color !== slice.color
        || run.end - run.start > 6 * narrow)) flush();
      if (run) { run.end = Math.max(run.end, slice.end); run.count += 1; run.busy += wide; }
      else run = { ...slice, count: 1, busy: wide };
    }
    flush();
  }
  return [...traces.values()];
};

// A plot over time that draws what is in sight again whenever that changes.
report.timeline = (id, total, make) => {
  const box = document.getElementById(id);
  const view = { from: 0, to: total };
  let busy = false;
  const draw = () => {
    busy = true;
    const wide = Math.max(box.clientWidth - 90, 200);
    const { traces, layout } = make(view.from, view.to, wide);
    layout.xaxis = {
      title: { text: "time, us" }, range: [view.from, view.to], ...layout.xaxis,
    };
    return Plotly.react(box, traces, report.layout({
      barmode: "overlay", bargap: 0, dragmode: "zoom", hovermode: "closest", ...layout,
    }), report.config).then(() => { busy = false; });
  };
  const show = (from, to) => {
    const width = Math.min(Math.max(to - from, total * 1e-6, 1e-3), total);
    view.from = Math.min(Math.max(from, 0), total - width);
    view.to = view.from + width;
    return draw();
  };
  report.plot(draw);
  box.on("plotly_relayout", (change) => {
    if (busy || !box.layout.xaxis) return;
    if ("xaxis.autorange" in change) show(0, total);
    else if ("xaxis.range[0]" in change) show(change["xaxis.range[0]"], change["xaxis.range[1]"]);
    else if ("xaxis.range" in change) show(...change["xaxis.range"]);
  });
  const act = (name) => {
    const wide = view.to - view.from, middle = (view.from + view.to) / 2;
    if (name === "in") return show(middle - wide / 4, middle + wide / 4);
    if (name === "out") return show(middle - wide, middle + wide);
    if (name === "left") return show(view.from - wide / 3, view.to - wide / 3);
    if (name === "right") return show(view.from + wide / 3, view.to + wide / 3);
    return show(0, total);
  };
  document.querySelectorAll(`[data-for="${id}"] button`).forEach((button) =>
    button.addEventListener("click", () => act(button.dataset.do)));
  const keys = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all" };
  box.addEventListener("keydown", (event) => {
    if (keys[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      act(keys[event.key]);
    }
  });
  box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const area = box.querySelector(".nsewdrag").getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - area.left) / area.width, 0), 1);
    const at = view.from + share * (view.to - view.from);
    const wide = (view.to - view.from) * (event.deltaY > 0 ? 1.25 : 0.8);
    show(at - share * wide, at + (1 - share) * wide);
  }, { passive: false });
  return { draw, show };
};
