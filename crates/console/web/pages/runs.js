// The last runs of all controllers.
import { ledger } from "../api.js";
import { hasLedger } from "../kinds.js";
import { Age, Answer, Dot, Empty } from "../parts.js";
import { at, choose, params } from "../route.js";
import { took } from "../time.js";
import { usePoll } from "../stream.js";
import { html } from "../ui.js";
import { NO_LEDGER } from "./overview.js";
import { runPage, Trigger } from "./run.js";

export function RunTable({ items }) {
  if (!items.length) return html`<${Empty}>There is no such run.<//>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Runs"><table><thead><tr>${["Result", "Controller", "Object", "Why", "Requests", "Waited", "Took", "Ended"].map((title) => html`<th key=${title} scope="col">${title}</th>`)}</tr></thead>
    <tbody>${items.toReversed().map((run) => html`<tr key=${run.id}><td><a href=${runPage(run.id)}><${Dot} level=${run.failed ? "bad" : "ok"} word=${run.result.slice(0, 60)} /></a></td><td>${run.controller}</td><td>${run.key}</td>
      <td><${Trigger} of=${run.triggers?.[0]} />${run.triggers?.length > 1 ? ` and ${run.triggers.length - 1 + (run.triggersDropped ?? 0)} more` : ""}</td><td>${run.requests?.length ?? 0}</td><td>${took(run.queueSeconds)}</td><td>${took(run.durationSeconds)}</td><td><${Age} of=${run.end} /></td></tr>`)}</tbody></table></div>`;
}

export function Runs() {
  const { controller = "", key = "", failed = "" } = params.value;
  const state = usePoll(hasLedger() ? ledger("runs", { controller, key, failed, limit: 200, at: at.value }) : null);
  return html`<div class="page"><div class="head"><h1>Runs</h1><span class="grow"></span><div class="toolbar">
      <input type="search" data-filter aria-label="Controller" placeholder="Controller" value=${controller} onChange=${(event) => choose({ controller: event.target.value })} />
      <input type="search" aria-label="Object" placeholder="namespace/name" value=${key} onChange=${(event) => choose({ key: event.target.value })} />
      <label><input type="checkbox" checked=${failed === "true"} onChange=${(event) => choose({ failed: event.target.checked ? "true" : "" })} /> Failed only</label></div></div>
    ${!hasLedger() ? html`<${Empty}>${NO_LEDGER}<//>` : html`<${Answer} of=${state}>${({ items }) => html`<${RunTable} items=${items} />`}<//>`}</div>`;
}
