// The data, what is chosen, and who wants to know when that changes.
"use strict";
const explorer = (() => {
  const started = performance.now();
  const data = JSON.parse(document.getElementById("data").textContent);
  const listeners = new Map();
  const last = data.steps.length - 1;
  const failed = data.errors.length > 0;

  const state = {
    // The entry of the pipeline that is shown; of a program that fails, the failure.
    step: failed ? last : data.steps.findIndex((step, at) => at > 1 && step.changed),
    view: "code",
    // What lines are followed through the passes: numbers of places.
    places: new Set(),
    // The line that was clicked: of which entry's text, and which line of it.
    chosen: null,
    search: "",
  };
  if (state.step < 0) state.step = last;

  const on = (name, listener) => {
    if (!listeners.has(name)) listeners.set(name, []);
    listeners.get(name).push(listener);
  };
  const emit = (name) => (listeners.get(name) || []).forEach((listener) => listener());

  // An element; texts of the input only come in as text nodes.
  const el = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "on") Object.entries(value).forEach(([event, f]) => made.addEventListener(event, f));
      else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  };
  const svg = (tag, attributes = {}) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const byId = (id) => document.getElementById(id);
  // A colour of the style as the canvas takes it, for the scheme that is on.
  const probe = document.createElement("i");
  probe.hidden = true;
  document.body.append(probe);
  const color = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const hue = (number) => `c${number % 8}`;

  const dumpOf = (step) => data.dumps[data.steps[step].dump];
  const lineText = (dump, row) => data.lines[dump.lines[row]];

  // Which sets of places have one that is followed, by the number of the set.
  let followed = new Uint8Array(data.sets.length);
  const isKin = (dump, row) => followed[dump.sets[row]] === 1;

  // The first line of a text that has the place of a finding; -1 where none has.
  const rowAt = (dump, { line, column }) => {
    const place = data.places.findIndex((one) => one[0] === line && one[1] === column);
    return place < 0 ? -1 : dump.sets.findIndex((set) => data.sets[set].includes(place));
  };

  const show = (step) => {
    const wanted = Math.max(0, Math.min(last, step));
    if (wanted === state.step) return;
    state.step = wanted;
    emit("step");
  };
  const view = (name) => {
    state.view = name;
    emit("view");
  };
  // Follows the places of a line: it becomes the chosen one.
  const follow = (step, row) => {
    const dump = dumpOf(step);
    state.chosen = { step, row };
    state.places = new Set(data.sets[dump.sets[row]]);
    followed = Uint8Array.from(data.sets, (set) => (set.some((place) => state.places.has(place)) ? 1 : 0));
    emit("follow");
  };
  const unfollow = () => {
    state.chosen = null;
    state.places = new Set();
    followed = new Uint8Array(data.sets.length);
    emit("follow");
  };
  // Shows a line of an entry's text, and follows it.
  const reveal = (step, row) => {
    if (state.view !== "code") view("code");
    show(step);
    follow(step, row);
    emit("reveal");
  };
  // The line of the source, as a row of its text; what is in no text is not shown.
  const revealSource = (line) => {
    if (line > 0 && line <= dumpOf(0).lines.length) reveal(0, line - 1);
  };

  // A text beside the pointer; pages have few places for so many facts.
  const tip = byId("tip");
  const hint = (event, text) => {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const { offsetWidth, offsetHeight } = tip;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 16, innerHeight - offsetHeight - 8))}px`;
  };

  const seconds = (value) =>
    value >= 1 ? `${value.toFixed(2)} s` : value >= 0.001 ? `${(value * 1e3).toFixed(1)} ms` : `${(value * 1e6).toFixed(0)} µs`;
  const count = (value, word, plural = `${word}s`) => `${value.toLocaleString("en")} ${value === 1 ? word : plural}`;

  return {
    started, data, state, on, emit, el, svg, byId, color, hue, dumpOf, lineText, isKin, rowAt, last, failed,
    show, view, follow, unfollow, reveal, revealSource, hint, seconds, count,
  };
})();
