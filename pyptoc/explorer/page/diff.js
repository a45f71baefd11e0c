// What a pass changed: lines of two texts side by side, worked out when first shown.
//
// Lines that stand once in both texts are anchors (the longest run of them that keeps its
// order); between anchors the same again, and short stretches by their longest common
// subsequence. Texts are lists of numbers, so that comparing lines is comparing numbers.
"use strict";
explorer.kinds = { same: 0, renumbered: 1, removed: 2, added: 3, changed: 4, fold: 5, note: 6 };
(() => {
  const { data, kinds } = explorer;
  const MOST_PRODUCTS = 4e6;

  // The longest increasing run of the second numbers of pairs that ascend by the first.
  const longestRun = (pairs) => {
    const tails = [], before = new Int32Array(pairs.length);
    pairs.forEach(([, value], index) => {
      let low = 0, high = tails.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (pairs[tails[middle]][1] < value) low = middle + 1;
        else high = middle;
      }
      before[index] = low > 0 ? tails[low - 1] : -1;
      tails[low] = index;
    });
    const run = [];
    for (let at = tails.length ? tails[tails.length - 1] : -1; at >= 0; at = before[at]) run.push(pairs[at]);
    return run.reverse();
  };

  const anchors = (a, aLow, aHigh, b, bLow, bHigh) => {
    const seen = new Map();
    for (let at = aLow; at < aHigh; at += 1) seen.set(a[at], seen.has(a[at]) ? null : { a: at, b: -1, times: 0 });
    for (let at = bLow; at < bHigh; at += 1) {
      const one = seen.get(b[at]);
      if (one) { one.b = at; one.times += 1; }
    }
    const pairs = [];
    for (const one of seen.values()) if (one && one.times === 1) pairs.push([one.a, one.b]);
    return longestRun(pairs.sort((one, other) => one[0] - other[0]));
  };

  const common = (a, aLow, aHigh, b, bLow, bHigh, out) => {
    const wide = bHigh - bLow + 1;
    const lengths = new Uint16Array((aHigh - aLow + 1) * wide);
    for (let i = aHigh - 1; i >= aLow; i -= 1) {
      for (let j = bHigh - 1; j >= bLow; j -= 1) {
        const at = (i - aLow) * wide + (j - bLow);
        lengths[at] = a[i] === b[j] ? lengths[at + wide + 1] + 1 : Math.max(lengths[at + wide], lengths[at + 1]);
      }
    }
    let i = aLow, j = bLow;
    while (i < aHigh && j < bHigh) {
      const at = (i - aLow) * wide + (j - bLow);
      if (a[i] === b[j]) out.push([i++, j++]);
      else if (lengths[at + wide] >= lengths[at + 1]) i += 1;
      else j += 1;
    }
  };

  const match = (a, aLow, aHigh, b, bLow, bHigh, out) => {
    while (aLow < aHigh && bLow < bHigh && a[aLow] === b[bLow]) out.push([aLow++, bLow++]);
    let tail = 0;
    while (aHigh > aLow && bHigh > bLow && a[aHigh - 1] === b[bHigh - 1]) { aHigh -= 1; bHigh -= 1; tail += 1; }
    if (aLow < aHigh && bLow < bHigh) {
      const fixed = anchors(a, aLow, aHigh, b, bLow, bHigh);
      if (fixed.length) {
        let [fromA, fromB] = [aLow, bLow];
        for (const [atA, atB] of fixed) {
          match(a, fromA, atA, b, fromB, atB, out);
          out.push([atA, atB]);
          [fromA, fromB] = [atA + 1, atB + 1];
        }
        match(a, fromA, aHigh, b, fromB, bHigh, out);
      } else if ((aHigh - aLow) * (bHigh - bLow) <= MOST_PRODUCTS) {
        common(a, aLow, aHigh, b, bLow, bHigh, out);
      }
    }
    for (let at = 0; at < tail; at += 1) out.push([aHigh + at, bHigh + at]);
  };

  // Numbers for lines that are the same but for the numbers of their values.
  const numbersOf = (texts, simplify) => {
    const numbers = new Map();
    return Int32Array.from(texts, (text) => {
      const key = simplify(text);
      if (!numbers.has(key)) numbers.set(key, numbers.size);
      return numbers.get(key);
    });
  };
  const lazily = (make) => { let made = null; return () => (made ??= make()); };
  const plain = lazily(() => numbersOf(data.lines, (text) =>
    text.replace(/%\d+/g, "%").replace(/(%\w*?[A-Za-z])_\d+\b/g, "$1")));
  const named = lazily(() => numbersOf(data.lines, (text) =>
    (/^\s*(?:%[^=]*= )?([\w."@]+)/.exec(text.trimEnd()) || ["", text])[1]));

  // Lines that were replaced: those with the same operation stand beside each other.
  const replaced = (a, aLow, aHigh, b, bLow, bHigh, rows) => {
    const pairs = [];
    const ops = named();
    const side = (lines) => Int32Array.from(lines, (line) => ops[line]);
    if ((aHigh - aLow) * (bHigh - bLow) <= MOST_PRODUCTS / 4) {
      const [one, other] = [side(a.slice(aLow, aHigh)), side(b.slice(bLow, bHigh))];
      common(one, 0, one.length, other, 0, other.length, pairs);
    }
    let [fromA, fromB] = [aLow, bLow];
    const beside = (toA, toB) => {
      for (; fromA < toA || fromB < toB; fromA += 1, fromB += 1) {
        const left = fromA < toA ? fromA : -1, right = fromB < toB ? fromB : -1;
        rows.push({ kind: left < 0 ? kinds.added : kinds.removed, a: left, b: right });
      }
      [fromA, fromB] = [toA, toB];
    };
    for (const [i, j] of pairs) {
      beside(aLow + i, bLow + j);
      rows.push({ kind: kinds.changed, a: fromA++, b: fromB++ });
    }
    beside(aHigh, bHigh);
  };

  const made = new Map();
  // Rows {kind, a, b}: lines of the texts before and after, -1 for none.
  explorer.diff = (before, after, renumber) => {
    const name = `${before} ${after} ${renumber}`;
    if (made.has(name)) return made.get(name);
    const [a, b] = [data.dumps[before].lines, data.dumps[after].lines];
    const keys = renumber ? plain() : null;
    const side = (lines) => (keys ? Int32Array.from(lines, (line) => keys[line]) : lines);
    const pairs = [];
    match(side(a), 0, a.length, side(b), 0, b.length, pairs);
    pairs.push([a.length, b.length]);
    const rows = [];
    let [fromA, fromB] = [0, 0];
    for (const [i, j] of pairs) {
      if (fromA < i || fromB < j) replaced(a, fromA, i, b, fromB, j, rows);
      if (i < a.length && j < b.length) rows.push({ kind: a[i] === b[j] ? kinds.same : kinds.renumbered, a: i, b: j });
      [fromA, fromB] = [i + 1, j + 1];
    }
    if (made.size > 60) made.clear();
    made.set(name, rows);
    return rows;
  };

  // The part of two lines that differs, in whole words: [start, end] in each.
  explorer.changedPart = (one, other) => {
    let start = 0;
    const shorter = Math.min(one.length, other.length);
    while (start < shorter && one[start] === other[start]) start += 1;
    let tail = 0;
    while (tail < shorter - start && one[one.length - 1 - tail] === other[other.length - 1 - tail]) tail += 1;
    const isWord = (text, at) => at >= 0 && at < text.length && /[\w%@#!.]/.test(text[at]);
    const splits = (text, at) => isWord(text, at - 1) && isWord(text, at);
    while (start > 0 && (splits(one, start) || splits(other, start))) start -= 1;
    while (tail > 0 && (splits(one, one.length - tail) || splits(other, other.length - tail))) tail -= 1;
    return [[start, Math.max(start, one.length - tail)], [start, Math.max(start, other.length - tail)]];
  };
})();
