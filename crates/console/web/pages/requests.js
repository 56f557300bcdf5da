// Requests that wrote, and those that were refused, with the rule that would have allowed them.
import { ledger } from "../api.js";
import { hasLedger, pageOf } from "../kinds.js";
import { Answer, copy, Dot, Empty, Tabs } from "../parts.js";
import { address, at, choose, params } from "../route.js";
import { clock, took } from "../time.js";
import { usePoll } from "../stream.js";
import { html } from "../ui.js";
import { NO_LEDGER } from "./overview.js";
import { RequestLine, runPage } from "./run.js";

const TABS = [["written", "Writes"], ["denied", "Refused"]];

/** A refused request: why, and what would allow it. */
export function Denial({ denial }) {
  return html`<${Dot} level="bad" word=${`${denial.code} ${denial.reason ?? ""}`} /> <${RequestLine} request=${{ ...denial, code: "" }} />
    <div>${denial.message}</div>${denial.webhook && html`<div class="muted">by the webhook ${denial.webhook}</div>`}
    ${denial.rule && html`<div class="rule"><pre>${denial.rule.yaml}</pre><button onClick=${() => copy(denial.rule.yaml, "the rule")}>Copy rule</button>
      ${denial.rule.declaration && html`<button onClick=${() => copy(denial.rule.declaration, "the declaration")}>Copy as Rust</button>`}</div>`}`;
}

export function Requests() {
  const { tab = "written", user = "", resource = "", changed = "" } = params.value;
  const denied = tab === "denied";
  const path = ledger(denied ? "denials" : "requests", { user, resource, limit: 200, at: at.value, changed: denied ? "" : changed });
  const state = usePoll(hasLedger() ? path : null);
  const page = (id) => address("/requests", { tab: id === "written" ? "" : id, user, resource });
  return html`<div class="page"><div class="head"><h1>Requests</h1><span class="grow"></span><div class="toolbar">
      <input type="search" data-filter aria-label="User" placeholder="User" value=${user} onChange=${(event) => choose({ user: event.target.value })} />
      <input type="search" aria-label="Resource" placeholder="Resource" value=${resource} onChange=${(event) => choose({ resource: event.target.value })} />
      ${!denied && html`<label><input type="checkbox" checked=${changed === "false"} onChange=${(event) => choose({ changed: event.target.checked ? "false" : "" })} /> Changed nothing</label>`}</div></div>
    <${Tabs} label="Requests" tabs=${TABS} current=${denied ? "denied" : "written"} href=${page} />
    <div id="panel" role="tabpanel" aria-labelledby=${`tab-${denied ? "denied" : "written"}`}>
      ${!hasLedger() ? html`<${Empty}>${NO_LEDGER}<//>` : html`<${Answer} of=${state}>${({ items }) => (denied ? html`<${Denials} items=${items} />` : html`<${Writes} items=${items} />`)}<//>`}</div></div>`;
}

function Denials({ items }) {
  if (!items.length) return html`<${Empty}>No request was refused.<//>`;
  return html`<ul class="list findings panel">${items.toReversed().map((denial) => html`<li key=${denial.number}><span class="muted">${clock(denial.time)}</span><div><${Denial} denial=${denial} /><div class="muted">${denial.user}${denial.userAgent ? ` with ${denial.userAgent.split(" ")[0]}` : ""}</div></div></li>`)}</ul>`;
}

function Writes({ items }) {
  if (!items.length) return html`<${Empty}>No request is known.<//>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Requests"><table><thead><tr>${["Time", "Verb", "Object", "Answer", "Revision", "User", "Client", "Took"].map((title) => html`<th key=${title} scope="col">${title}</th>`)}</tr></thead>
    <tbody>${items.toReversed().map((request) => {
      const commit = request.commits?.[0];
      const client = request.fieldManager || request.userAgent?.split(/[/ ]/)[0];
      return html`<tr key=${request.number}><td>${clock(request.time)}</td><td>${request.verb}${request.dryRun ? " (dry run)" : ""}</td>
        <td>${request.name ? html`<a href=${pageOf(request)}>${request.resource}${request.subresource ? `/${request.subresource}` : ""} ${request.namespace ? `${request.namespace}/` : ""}${request.name}</a>` : request.resource}</td>
        <td>${request.code >= 400 ? html`<${Dot} level="bad" word=${request.code} />` : request.unchanged ? html`<${Dot} level="warning" word=${`${request.code}, no change`} />` : request.code}</td>
        <td>${commit ? html`<a href=${pageOf(commit, { tab: "history", revision: commit.revision })}>${commit.revision}${request.commits.length > 1 ? ` and ${request.commits.length - 1} more` : ""}</a>` : ""}</td>
        <td>${request.user}</td><td>${request.run ? html`<a href=${runPage(request.run)}>${request.run}</a>` : client}</td><td>${took(request.durationSeconds)}</td></tr>`;
    })}</tbody></table></div>`;
}
