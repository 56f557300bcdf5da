// The objects of a kind, with the columns that the server prints. The server sends the rows of a window.
import { send } from "../api.js";
import { apiPath, findKind, nameOf, objectPage } from "../kinds.js";
import { copyKeys, useKeys } from "../keys.js";
import { ask } from "../dialog.js";
import { healthColumns, rowHealth } from "../health.js";
import { Age, Dot, Problem, say } from "../parts.js";
import { at, choose, go, params } from "../route.js";
import { useWindow } from "../stream.js";
import { html, useEffect, useRef, useSignal } from "../ui.js";

const ROW = 28;
const WINDOW = 200;

/** Reads a sort from the address: `name`, `-created`, `2`. */
function readSort(text) {
  const found = /^(-?)(created|\d+)$/.exec(text ?? "");
  if (!found) return undefined;
  return { by: found[2] === "created" ? "created" : { column: Number(found[2]) }, descending: Boolean(found[1]) };
}

/** Splits a filter into a label selector (`app=web`, `!canary`) and words. */
function readFilter(text) {
  const parts = (text ?? "").split(/\s+/).filter(Boolean);
  const isLabel = (part) => /^[\w./-]+(=|==|!=)[\w.-]*$/.test(part);
  return { labelSelector: parts.filter(isLabel).join(","), filter: parts.filter((part) => !isLabel(part)).join(" ") };
}

function Heading({ column, n, sort }) {
  const key = /^age$/i.test(column.name) ? "created" : String(n);
  const on = sort === key ? "ascending" : sort === `-${key}` ? "descending" : "none";
  const next = on === "none" ? key : on === "ascending" ? `-${key}` : "";
  return html`<th scope="col" aria-sort=${on} title=${column.description}><button onClick=${() => choose({ sort: next })}>${column.name}${{ ascending: " ↑", descending: " ↓", none: "" }[on]}</button></th>`;
}

export function Objects({ resource }) {
  const kind = findKind(resource);
  if (!kind) return html`<div class="page"><h1>${resource}</h1><${Problem} error=${{ message: `The cluster does not serve ${resource}.` }} /></div>`;
  return html`<${Table} kind=${kind} />`;
}

function Table({ kind }) {
  const { ns = "", q = "", sort = "" } = params.value;
  const { labelSelector, filter } = readFilter(q);
  const first = useSignal(0);
  const cursor = useSignal(-1);
  const chosen = useSignal(new Set());
  const scroller = useRef(null);
  const source = { path: apiPath(kind, ns), labelSelector, ...(at.value === null ? {} : { at: at.value }) };
  const offset = Math.max(0, Math.floor((first.value - WINDOW / 4) / 50) * 50);
  const shown = useWindow(source, { filter, sort: readSort(sort), offset, limit: WINDOW });
  const state = shown.value;
  useEffect(() => {
    cursor.value = -1;
    chosen.value = new Set();
    scroller.current?.scrollTo(0, 0);
  }, [ns, q, kind.path]);
  const columns = state.columns.map((column, n) => ({ ...column, n })).filter((column) => (column.priority ?? 0) === 0);
  const health = healthColumns(state.columns);
  const rows = state.order.map((key) => state.rows.get(key));
  const everywhere = kind.namespaced && !ns;
  // What keys mean is decided when they are pressed, not when the page was drawn last.
  const current = () => {
    const { rows, order, offset } = shown.peek();
    return rows.get(order[cursor.peek() - offset]);
  };
  const move = (step) => {
    const next = Math.min(Math.max(cursor.peek() + step, 0), shown.peek().total - 1);
    cursor.value = next;
    const box = scroller.current;
    if (box && ((next + 2) * ROW > box.scrollTop + box.clientHeight || next * ROW < box.scrollTop)) {
      box.scrollTop = step > 0 ? (next + 3) * ROW - box.clientHeight : next * ROW;
    }
  };
  const kubectl = () => {
    const row = current();
    const where = row?.namespace || ns ? ` -n ${row?.namespace || ns}` : kind.namespaced ? " -A" : "";
    return `kubectl get ${nameOf(kind)}${row ? ` ${row.name}` : ""}${where}${labelSelector ? ` -l '${labelSelector}'` : ""}`;
  };
  const open = () => current() && go(objectPage(nameOf(kind), current().namespace, current().name));
  useKeys({
    j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1), Enter: open,
    " ": () => current() && at.value === null && toggle(current().key),
    ...copyKeys(() => current()?.name ?? nameOf(kind), kubectl),
  });
  const toggle = (key) => {
    const next = new Set(chosen.peek());
    if (!next.delete(key)) next.add(key);
    chosen.value = next;
  };
  const remove = () => deleteAll(kind, [...chosen.value], () => (chosen.value = new Set()));
  const width = columns.length + (everywhere ? 1 : 0) + 1;
  return html`<div class="page fill">
    <div class="head"><h1>${kind.kind}</h1><span class="muted" aria-live="off">${state.synced ? `${state.total.toLocaleString()} ${state.total === 1 ? "object" : "objects"}` : "Loading …"}</span>
      <span class="grow"></span>
      ${chosen.value.size > 0 && html`<button class="danger" onClick=${remove}>Delete ${chosen.value.size}</button>`}
      <div class="toolbar"><${Namespaces} kind=${kind} ns=${ns} />
        <input type="search" data-filter value=${q} placeholder="Filter: words, !words, app=web" aria-label="Filter" onInput=${(event) => choose({ q: event.target.value })} /></div></div>
    ${state.error && html`<${Problem} error=${state.error} />`}
    <div class="scroll" ref=${scroller} tabindex="0" role="region" aria-label=${`Objects of kind ${kind.kind}`} onScroll=${(event) => (first.value = Math.floor(event.target.scrollTop / ROW))}>
      <table aria-rowcount=${state.total}><thead><tr><th scope="col" class="pick"><span class="unseen">Selected and state</span></th>${everywhere && html`<th scope="col">Namespace</th>`}
        ${columns.map((column) => html`<${Heading} key=${column.n} column=${column} n=${column.n} sort=${sort} />`)}</tr></thead>
        <tbody>
          <${Spacer} height=${state.offset * ROW} width=${width} />
          ${rows.map((row, n) => html`<${Line} key=${row.uid || row.key} ...${{ row, kind, columns, health, everywhere, chosen: chosen.value.has(row.key), cursor: state.offset + n === cursor.value, toggle }} />`)}
          <${Spacer} height=${Math.max(0, state.total - state.offset - rows.length) * ROW} width=${width} />
        </tbody></table>
      ${state.synced && !state.total && html`<p class="empty" style=${{ padding: "14px" }}>${q ? "No object matches the filter." : "There are no objects."}</p>`}
    </div></div>`;
}

function Spacer({ height, width }) {
  return height > 0 ? html`<tr class="spacer" aria-hidden="true"><td colspan=${width} style=${{ height: `${height}px` }}></td></tr>` : null;
}

function Line({ row, kind, columns, health, everywhere, chosen, cursor, toggle }) {
  const link = useRef(null);
  useEffect(() => void (cursor && link.current?.focus({ preventScroll: true })), [cursor]);
  const known = rowHealth(row, health);
  const cell = ({ n, name }) => {
    if (/^age$/i.test(name)) return html`<${Age} of=${row.created} />`;
    const value = row.cells[n];
    return n === 0 ? html`<a ref=${link} href=${objectPage(nameOf(kind), row.namespace, row.name)}>${row.name}</a>` : value === null ? "" : String(value);
  };
  return html`<tr class=${cursor ? "cursor" : ""} data-key=${row.key}>
    <td class="pick"><input type="checkbox" aria-label=${`Select ${row.key}`} checked=${chosen} onChange=${() => toggle(row.key)} />${" "}${known && html`<${Dot} ...${known} quiet />`}</td>
    ${everywhere && html`<td>${row.namespace}</td>`}
    ${columns.map((column) => html`<td key=${column.n}>${cell(column)}</td>`)}</tr>`;
}

function Namespaces({ kind, ns }) {
  const state = useWindow({ path: "/api/v1/namespaces" }, { offset: 0, limit: WINDOW }).value;
  if (!kind.namespaced) return null;
  const names = state.order;
  return html`<select aria-label="Namespace" value=${ns} onChange=${(event) => choose({ ns: event.target.value })}>
    <option value="">All namespaces</option>${[...new Set([...names, ...(ns ? [ns] : [])])].map((name) => html`<option key=${name} value=${name} selected=${name === ns}>${name}</option>`)}</select>`;
}

function deleteAll(kind, keys, done) {
  ask(`Delete ${keys.length} of kind ${kind.kind}?`, {
    text: html`<ul class="list">${keys.slice(0, 12).map((key) => html`<li key=${key}><code>${key}</code></li>`)}${keys.length > 12 && html`<li>and ${keys.length - 12} more</li>`}</ul>`,
    action: "Delete",
    confirm: async () => {
      for (const key of keys) {
        const [namespace, name] = key.includes("/") ? key.split("/") : ["", key];
        await send("DELETE", apiPath(kind, namespace, name));
      }
      say(`Deleted ${keys.length}`);
      done();
    },
  });
}
