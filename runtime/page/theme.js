// Colours from the page's style, and what all plots have in common.
"use strict";
const report = { data: JSON.parse(document.getElementById("data").textContent), drawings: [] };

report.color = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

// Texts of the input are no markup: plotly reads some tags.
report.text = (value) =>
  String(value).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

report.time = (cycles) => (cycles / report.data.clock) * 1e6;

report.short = (value) =>
  value >= 1e12 ? (value / 1e12).toPrecision(3) + " T"
  : value >= 1e9 ? (value / 1e9).toPrecision(3) + " G"
  : value >= 1e6 ? (value / 1e6).toPrecision(3) + " M"
  : value >= 1e3 ? (value / 1e3).toPrecision(3) + " K"
  : Number(value.toPrecision(3)) + " ";

report.layout = (more) => {
  const axis = {
    gridcolor: report.color("grid"), linecolor: report.color("line"),
    zerolinecolor: report.color("line"), automargin: true, tickcolor: report.color("line"),
  };
  const layout = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, Segoe UI, Roboto, sans-serif", size: 12, color: report.color("text") },
    margin: { l: 70, r: 16, t: 8, b: 40 },
    hoverlabel: {
      bgcolor: report.color("surface"), bordercolor: report.color("line"),
      font: { color: report.color("text") }, align: "left", namelength: -1,
    },
    legend: { orientation: "h", y: 1, yanchor: "bottom", x: 0, bgcolor: "rgba(0,0,0,0)" },
    showlegend: false,
    modebar: { bgcolor: "rgba(0,0,0,0)", color: report.color("muted"), activecolor: report.color("accent") },
    ...more,
  };
  for (const name of Object.keys(layout)) {
    if (/^[xy]axis/.test(name)) layout[name] = { ...axis, ...layout[name] };
  }
  return layout;
};

report.config = {
  displaylogo: false, responsive: true, showTips: false,
  modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
};

// A plot is a function that draws it; it is drawn again when the colours change.
report.plot = (draw) => { report.drawings.push(draw); draw(); };

(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const redraw = () => report.drawings.forEach((draw) => draw());
  dark.addEventListener("change", redraw);
  document.getElementById("theme").addEventListener("click", () => {
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    redraw();
  });
  // Lines of the source by their names, which may hold anything.
  document.querySelectorAll("a.jump").forEach((link) =>
    link.addEventListener("click", (event) => {
      const line = document.getElementById(decodeURIComponent(link.getAttribute("href").slice(1)));
      if (!line) return;
      event.preventDefault();
      document.querySelectorAll(".jumped").forEach((other) => other.classList.remove("jumped"));
      line.classList.add("jumped");
      const box = line.closest(".scroll");
      box.scrollTop = line.offsetTop - box.clientHeight / 3;
    }));
})();
