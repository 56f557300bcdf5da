// Controllers: their sources, queues and last runs.
import { ledger, send } from "../api.js";
import { hasLedger, kindOf, nameOf, objectPage, session } from "../kinds.js";
import { Age, Answer, Dot, Empty, say } from "../parts.js";
import { address, at } from "../route.js";
import { span, took } from "../time.js";
import { usePoll } from "../stream.js";
import { html } from "../ui.js";
import { flat, NO_LEDGER, useControllers } from "./overview.js";
import { runPage } from "./run.js";
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
    ${name && html`<p><a href=${address("/metrics", { controller: name })}>Rates, durations and queue of ${name}</a></p><${LastRuns} name=${name} />`}</div>`;
}

/** Sends a command to the operator of this program. */
async function command(what, done) {
  try {
    await send("POST", "/kubewright/v1/console/controllers", { body: what });
    say(done);
  } catch (error) {
    say(error.message);
  }
}

/** Pauses and resumes a controller, and enqueues a key. Only the operator of this program takes commands. */
function Commands({ one }) {
  if (!session.value?.operator) return null;
  const controller = one.name;
  const enqueue = (event) => {
    event.preventDefault();
    const key = event.target.elements.key.value.trim();
    command({ do: "enqueue", controller, key }, `Enqueued ${key}`);
  };
  return html`<form class="toolbar" onSubmit=${enqueue}>
    ${one.paused ? html`<button type="button" class="primary" onClick=${() => command({ do: "resume", controller }, `Resumed ${controller}`)}>Resume</button>`
      : html`<button type="button" onClick=${() => command({ do: "pause", controller }, `Paused ${controller}`)}>Pause</button>`}
    <label>Key <input name="key" required placeholder="namespace/name" /></label><button>Enqueue</button></form>`;
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
    ${one.paused && html`<p><${Dot} level="warning" word="paused: nothing is reconciled until it is resumed" /></p>`}
    <dl class="facts">${facts.map(([title, value]) => html`<div key=${title}><dt>${title}</dt><dd>${value}</dd></div>`)}</dl>
    <p>${(one.sources ?? []).map((source) => html`<span key=${source.name}><${Dot} level=${source.error ? "bad" : source.state === "synced" ? "ok" : "wait"} word=${`${source.name}: ${source.error ?? source.state}`} />${"  "}</span>`)}</p>
    <${Commands} one=${one} />
    ${keys.length > 0 && html`<table><thead><tr>${["Key", "Last result", "Took", "Last end", "Next"].map((title) => html`<th key=${title} scope="col">${title}</th>`)}</tr></thead>
      <tbody>${keys.map((key) => html`<tr key=${key.key}><td>${page(key.key) ? html`<a href=${page(key.key)}>${key.key}</a>` : key.key}</td><td>${key.lastResult}</td><td>${took(key.durationSeconds)}</td><td><${Age} of=${key.lastEnd} /></td>
        <td>${key.running ? "running" : key.dueInSeconds > 0 ? `in ${span(key.dueInSeconds)}` : key.pendingTrigger ? "queued" : "on the next change"}</td></tr>`)}</tbody></table>`}</section>`;
}

/** The runs that the page evaluates. */
const RUNS = 100;

function LastRuns({ name }) {
  const state = usePoll(ledger("runs", { controller: name, limit: RUNS, at: at.value }));
  return html`<${Answer} of=${state}>${({ items }) => html`<div class="grid"><${Errors} items=${items} /><${Writes} items=${items} /></div>
    <h2>Last runs</h2><${RunTable} items=${items.slice(-50)} />`}<//>`;
}

/** Groups items by a text, the most frequent first: `[text, items]`. */
function grouped(items, text) {
  const groups = new Map();
  for (const item of items) groups.set(text(item), [...(groups.get(text(item)) ?? []), item]);
  return [...groups].sort(([, a], [, b]) => b.length - a.length);
}

/** Errors that differ only in the names of their objects and in numbers are one. */
function Errors({ items }) {
  const failed = items.filter((run) => run.failed);
  const groups = grouped(failed, ({ result, key }) => result.replaceAll(key.split("/").at(-1), "…").replace(/\d+/g, "#"));
  return html`<section class="panel" aria-labelledby="errors"><h2 id="errors">Errors</h2>${!groups.length ? html`<${Empty}>None of the last ${items.length} runs failed.<//>`
    : html`<ul class="list">${groups.slice(0, 8).map(([text, runs]) => html`<li key=${text}><${Dot} level="bad" word=${`${runs.length}×`} /> ${text} <a href=${runPage(runs.at(-1).id)}>last run</a></li>`)}</ul>`}</section>`;
}

/** The writes of the runs by kind and outcome. */
function Writes({ items }) {
  const writes = items.flatMap((run) => run.requests ?? []).filter(({ verb }) => !["get", "list", "watch"].includes(verb));
  const groups = grouped(writes, ({ group, resource, subresource }) => `${resource}${group ? `.${group}` : ""}${subresource ? `/${subresource}` : ""}`);
  return html`<section class="panel" aria-labelledby="writes"><h2 id="writes">Writes of the last ${items.length} runs</h2>${!groups.length ? html`<${Empty}>They wrote nothing.<//>`
    : html`<table><thead><tr>${["Kind", "Requests", "Refused"].map((title) => html`<th key=${title} scope="col">${title}</th>`)}</tr></thead>
      <tbody>${groups.map(([kind, all]) => html`<tr key=${kind}><td>${kind}</td><td>${grouped(all, ({ verb }) => verb).map(([verb, some]) => `${some.length} ${verb}`).join(", ")}</td><td>${all.filter(({ code }) => code >= 400).length}</td></tr>`)}</tbody></table>`}</section>`;
}
