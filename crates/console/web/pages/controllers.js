// Controllers: their sources, queues and last runs.
import { ledger } from "../api.js";
import { hasLedger, kindOf, nameOf, objectPage } from "../kinds.js";
import { Age, Answer, Dot, Empty } from "../parts.js";
import { address } from "../route.js";
import { span, took } from "../time.js";
import { usePoll } from "../stream.js";
import { html } from "../ui.js";
import { flat, NO_LEDGER, useControllers } from "./overview.js";
import { RunTable } from "./runs.js";

export function Controllers({ name }) {
  const state = useControllers();
  if (!hasLedger()) return html`<div class="page"><h1>Controllers</h1><${Empty}>${NO_LEDGER}<//></div>`;
  return html`<div class="page">${name && html`<div class="crumbs"><a href=${address("/c")}>Controllers</a></div>`}<h1>${name ?? "Controllers"}</h1>
    <${Answer} of=${state}>${(body) => {
      const shown = flat(body).filter((one) => !name || one.name === name);
      if (!shown.length) return html`<${Empty}>${name ? `${name} has not reported in the last 10 seconds.` : "No controller has reported in the last 10 seconds."}<//>`;
      return shown.map((one) => html`<${Controller} key=${one.manager.manager + one.name} one=${one} alone=${Boolean(name)} />`);
    }}<//>
    ${name && html`<${LastRuns} name=${name} />`}</div>`;
}

function Controller({ one, alone }) {
  const kind = kindOf(one.group, one.resource);
  const page = (key) => {
    const [namespace, name] = key.includes("/") ? key.split("/") : ["", key];
    return kind && objectPage(nameOf(kind), namespace, name);
  };
  const facts = [["Manager", one.manager.manager], ["Leading", one.manager.leading ? "yes" : "no"], ["Workers", `${one.processing} of ${one.workers} busy`], ["Queued", one.queued], ["Delayed", one.delayed], ["Runs", one.runs], ["Failures", one.failures]];
  const keys = (one.keys ?? []).slice(0, alone ? 200 : 6);
  return html`<section class="panel">${!alone && html`<h2><a href=${address(`/c/${encodeURIComponent(one.name)}`)}>${one.name}</a></h2>`}
    <dl class="facts">${facts.map(([title, value]) => html`<div key=${title}><dt>${title}</dt><dd>${value}</dd></div>`)}</dl>
    <p>${(one.sources ?? []).map((source) => html`<span key=${source.name}><${Dot} level=${source.error ? "bad" : source.state === "synced" ? "ok" : "wait"} word=${`${source.name}: ${source.error ?? source.state}`} />${"  "}</span>`)}</p>
    ${keys.length > 0 && html`<table><thead><tr>${["Key", "Last result", "Took", "Last end", "Next"].map((title) => html`<th key=${title} scope="col">${title}</th>`)}</tr></thead>
      <tbody>${keys.map((key) => html`<tr key=${key.key}><td>${page(key.key) ? html`<a href=${page(key.key)}>${key.key}</a>` : key.key}</td><td>${key.lastResult}</td><td>${took(key.durationSeconds)}</td><td><${Age} of=${key.lastEnd} /></td>
        <td>${key.running ? "running" : key.dueInSeconds > 0 ? `in ${span(key.dueInSeconds)}` : key.pendingTrigger ? "queued" : "on the next change"}</td></tr>`)}</tbody></table>`}</section>`;
}

function LastRuns({ name }) {
  const state = usePoll(ledger("runs", { controller: name, limit: 50 }));
  return html`<h2>Last runs</h2><${Answer} of=${state}>${({ items }) => html`<${RunTable} items=${items} />`}<//>`;
}
