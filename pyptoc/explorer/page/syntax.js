// Colours: a line of IR as coloured pieces, with marks for searches and changed words.
"use strict";
(() => {
  const WORDS = new Set((
    "for to step in on into outs iter_args if else while after attributes accesses read write inexact accumulate"
    + " min max mod floordiv ceildiv overlaps from axis over by with to and or not true false dense private public"
  ).split(" "));
  const TOKEN = new RegExp([
    /(?<comment>\/\/.*)/, /(?<string>"(?:[^"\\]|\\.)*"?)/, /(?<ssa>%[\w$.-]+(?:#\d+)?)/, /(?<symbol>@[\w$.-]+)/,
    /(?<attr>#[\w$.-]+)/, /(?<type>![\w$.-]+|(?:\?|\d+)x[\w?]*|\b(?:tensor|memref|vector|index|none|bf16|[fi]\d+\w*)\b)/,
    /(?<op>\b[a-z_]\w*\.[\w.]+)/, /(?<number>\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)/, /(?<word>\b[a-z_]+\b)/,
  ].map((each) => each.source).join("|"), "g");

  // Pieces [start, end, kind] of the lines that were shown, by the number of the line.
  const known = new Map();
  const pieces = (number, text) => {
    if (known.has(number)) return known.get(number);
    const found = [];
    for (const match of text.matchAll(TOKEN)) {
      const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
      if (kind === "word" && !WORDS.has(match[0])) continue;
      found.push([match.index, match.index + match[0].length, kind]);
    }
    if (known.size > 20000) known.clear();
    known.set(number, found);
    return found;
  };

  // Where a search word stands in a text: pairs of start and end.
  const found = (text, word) => {
    const places = [];
    if (!word) return places;
    const lower = text.toLowerCase();
    for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + word.length)) {
      places.push([at, at + word.length]);
    }
    return places;
  };

  // The columns from..to of a line. `changed` is the part that a pass changed, or null.
  explorer.paint = (number, from, to, changed = null) => {
    const text = explorer.data.lines[number];
    const end = Math.min(to, text.length);
    const hits = found(text, explorer.state.search);
    const cuts = new Set([from, end]);
    const cut = (range) => range.forEach((at) => typeof at === "number" && at > from && at < end && cuts.add(at));
    const tokens = pieces(number, text);
    for (const each of [...tokens, ...hits, ...(changed ? [changed] : [])]) cut(each);
    const sorted = [...cuts].sort((one, other) => one - other);
    const fragment = document.createDocumentFragment();
    let token = 0;
    for (let index = 0; index + 1 < sorted.length; index += 1) {
      const [start, stop] = [sorted[index], sorted[index + 1]];
      while (token < tokens.length && tokens[token][1] <= start) token += 1;
      const inside = token < tokens.length && tokens[token][0] <= start ? tokens[token][2] : "";
      const part = text.slice(start, stop);
      const hit = hits.some(([low, high]) => low <= start && start < high);
      const word = changed && changed[0] <= start && start < changed[1];
      if (!hit && !word && !inside) fragment.append(part);
      else {
        const piece = explorer.el(hit ? "mark" : "span", {}, part);
        piece.className = (inside ? `t-${inside}` : "") + (word ? " word" : "");
        fragment.append(piece);
      }
    }
    return fragment;
  };
})();
