// Buffers by address and life: one chart a memory of a kernel.
"use strict";
(() => {
  const { data, el, svg, byId, hue } = explorer;
  const view = byId("view-memory");
  view.classList.add("scrolled");
  const WIDE = 600, HIGH = 210;
  const bytes = (value) => `${value.toLocaleString("en")} B`;

  const go = (row) => explorer.reveal(explorer.last, row);

  const facts = (buffer) => [
    `${buffer.name}  ${buffer.type}` + (buffer.channel ? "  channel" : ""),
    `${bytes(buffer.bytes)} at ${buffer.address.toLocaleString("en")}` + (buffer.slots > 1 ? `, ${buffer.slots} slots` : ""),
    `lives from ${buffer.start} to ${buffer.end} in program order`,
    buffer.pipes.length ? `used by ${buffer.pipes.join(", ")}` : "",
  ].filter(Boolean).join("\n");

  const rectangle = (buffer, number, x, y) => {
    const [left, top] = [x(buffer.start), y(buffer.address)];
    const [width, height] = [Math.max(x(buffer.end + 1) - left, 3), Math.max(y(buffer.address + buffer.bytes) - top, 1.5)];
    const group = svg("g");
    const shape = svg("rect", { x: left, y: top, width, height, rx: 2, class: "buffer", tabindex: 0, role: "button" });
    shape.setAttribute("aria-label", facts(buffer));
    shape.style.fill = `var(--${hue(number)})`;
    shape.style.fillOpacity = buffer.channel ? "0.55" : "0.85";
    shape.addEventListener("click", () => go(buffer.row));
    shape.addEventListener("keydown", (event) => { if (event.key === "Enter") go(buffer.row); });
    shape.addEventListener("pointermove", (event) => explorer.hint(event, facts(buffer)));
    shape.addEventListener("pointerleave", (event) => explorer.hint(event, ""));
    group.append(shape);
    for (let slot = 1; slot < buffer.slots && height / buffer.slots > 3; slot += 1) {
      const at = top + (height * slot) / buffer.slots;
      group.append(svg("line", { x1: left, x2: left + width, y1: at, y2: at, class: "slot" }));
    }
    const long = `${buffer.name} ${buffer.type}`;
    const label = width > 7.8 * long.length ? long : buffer.name;
    if (height > 13 && width > 7 * label.length) {
      const text = svg("text", { x: left + 5, y: top + 11 });
      text.textContent = label;
      text.style.fill = "#fff";
      group.append(text);
    }
    return group;
  };

  const card = (kernel, space) => {
    const used = Math.max(...space.buffers.map((buffer) => buffer.address + buffer.bytes));
    const reach = Math.max(used * 1.04, 1);
    const drawing = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "group" });
    drawing.setAttribute("aria-label", `Buffers in ${space.name}`);
    const x = (position) => (position / kernel.length) * WIDE;
    const y = (address) => (address / reach) * HIGH;
    space.buffers.forEach((buffer, number) => drawing.append(rectangle(buffer, number, x, y)));
    const meter = el("div", { class: "meter", role: "img", "aria-label": `${Math.round((100 * used) / space.bytes)} percent used` }, el("div"));
    meter.firstElementChild.style.width = `${Math.min(100, (100 * used) / space.bytes)}%`;
    return el("article", { class: "card" },
      el("div", { class: "head" }, el("h3", {}, space.name),
        el("span", { class: "muted" }, `${bytes(used)} of ${bytes(space.bytes)}, ${((100 * used) / space.bytes).toFixed(1)} %`)),
      drawing, meter);
  };

  const tableOf = (kernel) => {
    const body = el("tbody");
    for (const space of kernel.spaces) {
      for (const buffer of [...space.buffers].sort((one, other) => one.address - other.address)) {
        body.append(explorer.linkRow(() => go(buffer.row),
          el("td", {}, space.name), el("td", {}, el("code", {}, buffer.name)), el("td", {}, el("code", {}, buffer.type)),
          ...[buffer.address, buffer.bytes, buffer.slots, buffer.start, buffer.end].map((value) =>
            el("td", { class: "number" }, value.toLocaleString("en"))),
          el("td", {}, buffer.pipes.join(" "))));
      }
    }
    return el("table", {}, explorer.heads("space", "buffer", "type", "address", "bytes", "slots", "from", "to", "pipes"), body);
  };

  if (!data.memory.length) {
    const why = explorer.failed ? "The program did not compile, so its buffers have no addresses."
      : data.no_memory || "No kernel has buffers with addresses: the pipeline ends before plan-memory, or has no kernels.";
    view.append(explorer.nothing(why));
    return;
  }
  const menu = el("select", { id: "kernel", "aria-label": "Kernel" }, ...data.memory.map((kernel, at) => el("option", { value: at }, `@${kernel.name}`)));
  const place = el("div");
  const draw = () => {
    const kernel = data.memory[Number(menu.value)];
    place.replaceChildren(el("div", { class: "cards" }, ...kernel.spaces.map((space) => card(kernel, space))), tableOf(kernel));
  };
  menu.addEventListener("change", draw);
  view.append(el("div", { class: "facts" }, el("label", {}, "Kernel ", menu),
    el("span", { class: "muted" }, "Addresses go down, program order goes right; buffers side by side share bytes at different times. Click one for its line.")), place);
  draw();
})();
