// The owner of each field, as a table.
import { ledger } from "../api.js";
import { hasLedger, ledgerObject } from "../kinds.js";
import { owners } from "../fields.js";
import { pathText } from "../yaml.js";
import { Age, Answer, Dot, Empty } from "../parts.js";
import { at } from "../route.js";
import { usePoll } from "../stream.js";
import { html } from "../ui.js";
import { runPage } from "./run.js";

/** The owners as the ledger tells them, which also knows the run; or as the object does. */
export function Ownership({ kind, namespace, name, object }) {
  const state = usePoll(hasLedger() ? ledger("fields", { ...ledgerObject(kind, namespace, name), at: at.value }) : null);
  if (hasLedger()) return html`<${Answer} of=${state}>${({ items, truncated }) => html`<${Fields} items=${items} />${truncated && html`<p class="muted">There are more.</p>`}`}<//>`;
  const items = [...owners(object)].flatMap(([path, all]) => all.map((one) => ({ ...one, path: pathText(JSON.parse(path)), manager: one.name })));
  return html`<${Fields} items=${items} />`;
}

function Fields({ items }) {
  if (!items.length) return html`<${Empty}>The object has no managed fields.<//>`;
  const count = new Map();
  for (const { path } of items) count.set(path, (count.get(path) ?? 0) + 1);
  const isShared = (path) => count.get(path) > 1;
  return html`<div class="scroll"><table><thead><tr>${["Field", "Manager", "Operation", "Since", "Last changed by"].map((title) => html`<th key=${title} scope="col">${title}</th>`)}</tr></thead>
    <tbody>${items.map((item, n) => html`<tr key=${n}><td class="mono">${item.path}</td><td>${item.manager}${isShared(item.path) && html` <${Dot} level="wait" word="shared" />`}</td>
      <td>${item.operation}${item.subresource ? ` ${item.subresource}` : ""}</td><td><${Age} of=${item.time} /></td>
      <td>${item.run ? html`<a href=${runPage(item.run)}>${item.run}</a>` : item.user ?? ""}</td></tr>`)}</tbody></table></div>
    <p class="muted">A server-side apply of another manager that changes one of these fields is a conflict, unless it forces it.</p>`;
}
