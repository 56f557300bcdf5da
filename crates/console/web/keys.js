// The keyboard: `j` and `k` move, `/` filters, `:` goes somewhere, `?` shows all keys.
import { findKind, kinds, nameOf } from "./kinds.js";
import { address, go, segments } from "./route.js";
import { copy, say } from "./parts.js";
import { isOpen, show } from "./dialog.js";
import { html, signal, useLayoutEffect } from "./ui.js";

/** Whether the command line is open. */
export const commanding = signal(false);

/** What keys mean on the page that is shown. Pages add their own while they are there. */
const layers = [];

export function useKeys(keys) {
  useLayoutEffect(() => {
    layers.push(keys);
    return () => layers.splice(layers.indexOf(keys), 1);
  });
}

const HELP = [
  ["j k", "next, previous row"], ["Enter", "open the row"], ["Esc", "back, or leave a field"],
  ["/", "filter"], [":", "go to a kind or a page, as :pods -n default"], ["g", "overview"],
  ["1 … 6", "tab of an object"], ["e", "edit"], ["y", "copy the name"], ["Y", "copy the kubectl command"],
  ["t", "light, dark or automatic"], ["?", "this help"],
];

const PAGES = { overview: "/", runs: "/runs", requests: "/requests", apply: "/apply", controllers: "/c", metrics: "/metrics", perturb: "/perturb", lab: "/lab" };

function isField(element) {
  return element?.matches?.("input, textarea, select, [contenteditable]");
}

export function listenToKeys(defaults) {
  layers.unshift({
    ":": () => (commanding.value = true),
    "?": help,
    g: () => go(address("/")),
    "/": () => document.querySelector("[data-filter]")?.focus(),
    Escape: back,
    ...defaults,
  });
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isOpen()) return;
    if (isField(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const layer = layers.findLast((keys) => keys[event.key]);
    if (!layer) return;
    event.preventDefault();
    layer[event.key](event);
  });
}

export function help() {
  show("Keys", () => html`<dl class="keys">
    ${HELP.map(([key, text]) => html`<div key=${key}><dt>${key.split(" ").map((one) => (one === "…" ? " … " : html`<kbd>${one}</kbd> `))}</dt><dd>${text}</dd></div>`)}
  </dl>`);
}

/** Goes up: from an object to its kind, from there to the overview. */
function back() {
  const [page, kind, , name] = segments.value;
  if (page === "o" && name) go(address(`/o/${encodeURIComponent(kind)}`));
  else if (page === "runs" && kind) go(address("/runs"));
  else if (page) go(address("/"));
}

/** Runs a command: a page, or a kind with `-n NAMESPACE`, a name or a filter. */
export function command(text) {
  const words = text.trim().replace(/^:/, "").split(/\s+/);
  const word = words.shift();
  let namespace = "", filter = "";
  while (words.length) {
    const next = words.shift();
    if (next === "-n" || next === "--namespace") namespace = words.shift() ?? "";
    else if (next === "-A") namespace = "";
    else filter = filter ? `${filter} ${next}` : next;
  }
  if (PAGES[word]) return go(address(PAGES[word]));
  const kind = findKind(word);
  if (!kind) return say(`The cluster does not serve ${word}`);
  go(address(`/o/${encodeURIComponent(nameOf(kind))}`, { ns: namespace, q: filter }));
}

/** The command line, with the names of kinds and pages to choose from. */
export function CommandLine() {
  if (!commanding.value) return null;
  const done = () => (commanding.value = false);
  const submit = (event) => {
    event.preventDefault();
    const text = event.target.elements.command.value;
    done();
    if (text.trim()) command(text);
  };
  return html`<form class="command" onSubmit=${submit}>
    <label><span aria-hidden="true">:</span><span class="unseen">Command</span>
      <input name="command" list="commands" autocomplete="off" spellcheck=${false} placeholder="pods -n default"
        ref=${(input) => input?.focus()} onBlur=${done} /></label>
    <datalist id="commands">${[...Object.keys(PAGES), ...kinds.value.map(nameOf)].map((name) => html`<option key=${name} value=${name} />`)}</datalist>
  </form>`;
}

/** The keys of a page about one object or row. */
export function copyKeys(name, kubectl) {
  return { y: () => copy(name(), name()), Y: () => copy(kubectl(), kubectl()) };
}

