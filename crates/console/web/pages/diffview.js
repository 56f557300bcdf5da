// A diff of two objects as YAML: unchanged lines folded, words marked within lines.
import { diffRows } from "../diff.js";
import { readable, yamlLines } from "../yaml.js";
import { Empty } from "../parts.js";
import { html, useMemo } from "../ui.js";

/** The parts of an object that one may look at alone. */
export const PARTS = { all: "Everything", spec: "Spec only", status: "Status only" };

function lines(object, part) {
  const shown = part === "all" ? readable(object) : object?.[part] === undefined ? {} : { [part]: object[part] };
  return yamlLines(shown ?? {}).map((line) => line.text).filter((text) => !/^  resourceVersion: /.test(text));
}

export function Diff({ before, after, part = "all", label = "Difference" }) {
  const rows = useMemo(() => diffRows(lines(before, part), lines(after, part)), [before, after, part]);
  if (rows.every((row) => row.kind === "fold")) return html`<${Empty}>There is no difference.<//>`;
  const sign = { added: "+", removed: "−", same: " " };
  return html`<pre class="code diff" tabindex="0" role="region" aria-label=${label}>${rows.map((row, n) => row.kind === "fold"
    ? html`<div class="line fold" key=${n}>${row.count} unchanged ${row.count === 1 ? "line" : "lines"}</div>`
    : html`<div class=${`line ${row.kind}`} key=${n}><span class="sign">${sign[row.kind]}</span><span>${row.parts ? row.parts.map(([text, changed], m) => (changed ? html`<mark key=${m}>${text}</mark>` : text)) : row.text}</span></div>`)}</pre>`;
}
