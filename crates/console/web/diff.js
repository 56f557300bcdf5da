// Differences of texts: lines by Myers' algorithm, and words within a changed line.

const DEEPEST = 600;

/** Compares two lists of texts; returns `[" " | "-" | "+", text, index in a, index in b]`. */
export function diffTexts(a, b) {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let endA = a.length, endB = b.length;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) endA--, endB--;
  const same = (from, to, shift) => Array.from({ length: to - from }, (_, n) => [" ", a[from + n], from + n, from + n + shift]);
  return [
    ...same(0, start, 0),
    ...middle(a.slice(start, endA), b.slice(start, endB)).map(([op, text, i, j]) => [op, text, i + start, j + start]),
    ...same(endA, a.length, endB - endA),
  ];
}

function replaced(a, b) {
  return [...a.map((text, n) => ["-", text, n, 0]), ...b.map((text, n) => ["+", text, a.length, n])];
}

function middle(a, b) {
  if (!a.length || !b.length) return replaced(a, b);
  const most = Math.min(a.length + b.length, DEEPEST);
  const trace = [];
  let v = new Map([[1, 0]]);
  for (let d = 0; d <= most; d++) {
    trace.push(new Map(v));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (v.get(k - 1) ?? -1) < (v.get(k + 1) ?? -1));
      let x = down ? v.get(k + 1) ?? 0 : (v.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      v.set(k, x);
      if (x >= a.length && x - k >= b.length) return back(a, b, trace, d);
    }
  }
  return replaced(a, b);
}

function back(a, b, trace, last) {
  const out = [];
  let x = a.length, y = b.length;
  for (let d = last; d >= 0; d--) {
    const v = trace[d];
    const k = x - y;
    const down = k === -d || (k !== d && (v.get(k - 1) ?? -1) < (v.get(k + 1) ?? -1));
    const fromK = down ? k + 1 : k - 1;
    const fromX = d === 0 ? 0 : v.get(fromK) ?? 0;
    const fromY = d === 0 ? 0 : fromX - fromK;
    while (x > fromX && y > fromY) out.push([" ", a[--x], x, --y]);
    if (d === 0) break;
    if (down) out.push(["+", b[--y], x, y]);
    else out.push(["-", a[--x], x, y]);
  }
  return out.reverse();
}

/** Splits a line into words and what is between them. */
const words = (text) => text.match(/[\w]+|\s+|[^\w\s]/g) ?? [];

/** Compares two lines; returns the parts of each as `[text, changed]`. */
export function diffWords(before, after) {
  const old = [], fresh = [];
  for (const [op, text] of diffTexts(words(before), words(after))) {
    if (op !== "+") push(old, text, op === "-");
    if (op !== "-") push(fresh, text, op === "+");
  }
  return [old, fresh];
}

function push(parts, text, changed) {
  const last = parts.at(-1);
  if (last && last[1] === changed) last[0] += text;
  else parts.push([text, changed]);
}

/** Makes rows of a diff of two texts: unchanged lines far from a change are folded, changed lines are paired. */
export function diffRows(before, after, context = 3) {
  const ops = diffTexts(before, after);
  const near = new Set();
  ops.forEach(([op], n) => {
    if (op !== " ") for (let m = n - context; m <= n + context; m++) near.add(m);
  });
  const rows = [];
  for (let n = 0; n < ops.length; ) {
    const [op, text] = ops[n];
    if (op === " " && !near.has(n)) {
      let count = 0;
      while (n < ops.length && ops[n][0] === " " && !near.has(n)) count++, n++;
      rows.push({ kind: "fold", count });
    } else if (op === " ") {
      rows.push({ kind: "same", text });
      n++;
    } else {
      const removed = [], added = [];
      while (n < ops.length && ops[n][0] === "-") removed.push(ops[n++][1]);
      while (n < ops.length && ops[n][0] === "+") added.push(ops[n++][1]);
      const pairs = removed.map((line, m) => (m < added.length ? diffWords(line, added[m]) : [[[line, true]], null]));
      pairs.forEach(([old]) => rows.push({ kind: "removed", parts: old }));
      added.forEach((line, m) => rows.push({ kind: "added", parts: pairs[m]?.[1] ?? [[line, true]] }));
    }
  }
  return rows;
}
