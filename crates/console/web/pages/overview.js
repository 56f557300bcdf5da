// What needs attention, above all else; then controllers, kinds and the last refusals.
import { ledger } from "../api.js";
import { hasLedger, kinds, nameOf, pageOf } from "../kinds.js";
import { Age, Answer, Dot, Empty } from "../parts.js";
import { address, at } from "../route.js";
import { usePoll } from "../stream.js";
import { html } from "../ui.js";
import { runPage, Trigger } from "./run.js";

export const NO_LEDGER = "This server keeps no ledger: it does not know who wrote what and why. A server of Kubewright does, unless it was started with --no-ledger.";

export function Finding({ finding }) {
  const { object, controller, runs = [], kind, severity, message, count, last } = finding;
  return html`<li>
    <${Dot} level=${severity} word=${severity} quiet />
    <div><strong>${title(kind)}</strong> <span>${message}</span>
      <div class="muted">
        ${object && html`<a href=${pageOf(object)}>${object.resource} ${object.namespace ? `${object.namespace}/` : ""}${object.name}</a> `}
        ${controller && html`· <a href=${address(`/c/${encodeURIComponent(controller)}`)}>${controller}</a> `}
        ${runs.slice(-2).map((id) => html`· <a key=${id} href=${runPage(id)}>run ${id.split("/").at(-1)}</a> `)}
        ${count > 1 && html`· ${count} times `}· <${Age} of=${last} /> ago
      </div></div></li>`;
}

/** The name of a kind of finding in words: `feedsItself` is "Feeds itself". */
function title(kind) {
  const words = kind.replace(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`);
  return words[0].toUpperCase() + words.slice(1);
}

/** The findings of a kind about a controller that are shown; the others are only counted. */
const SHOWN = 3;

/** Folds findings that say the same of many objects. */
function folded(items) {
  const groups = new Map();
  for (const finding of items) {
    const key = [finding.kind, finding.controller, finding.reason].join(" ");
    groups.set(key, [...(groups.get(key) ?? []), finding]);
  }
  return [...groups.values()].map((all) => ({ shown: all.slice(0, SHOWN), more: all.length - SHOWN }));
}

function Findings() {
  const found = usePoll(hasLedger() ? ledger("findings", { at: at.value }) : null);
  return html`<section class="panel" aria-labelledby="findings"><h2 id="findings">Findings</h2>
    ${!hasLedger() ? html`<${Empty}>${NO_LEDGER}<//>` : html`<${Answer} of=${found}>
      ${({ items, truncated }) => html`${items.length
        ? html`<ul class="list findings">${folded(items).map(({ shown, more }, n) => html`${shown.map((finding, m) => html`<${Finding} key=${`${n} ${m}`} finding=${finding} />`)}
            ${more > 0 && html`<li key=${n} class="muted">and ${more} more: ${title(shown[0].kind).toLowerCase()}${shown[0].controller ? `, ${shown[0].controller}` : ""}</li>`}`)}</ul>`
        : html`<p class="empty"><${Dot} level="ok" word="Nothing stands out" /></p>`}
        ${truncated && html`<p class="muted">There are more.</p>`}`}
    <//>`}
  </section>`;
}

export function useControllers() {
  return usePoll(hasLedger() ? ledger("controllers") : null);
}

/** All controllers of all managers, flat. */
export function flat(body) {
  return (body.items ?? []).flatMap((manager) => manager.controllers.map((controller) => ({ ...controller, manager })));
}

function ControllerList() {
  const state = useControllers();
  return html`<section class="panel" aria-labelledby="controllers"><h2 id="controllers">Controllers</h2>
    ${!hasLedger() ? html`<${Empty}>Controllers report to a ledger, which this server does not have.<//>` : html`<${Answer} of=${state}>
      ${(body) => (flat(body).length ? html`<table><thead><tr><th scope="col">Controller</th><th scope="col">Queued</th><th scope="col">Running</th><th scope="col">Runs</th><th scope="col">Failures</th></tr></thead>
        <tbody>${flat(body).map((one) => html`<tr key=${one.manager.manager + one.name}>
          <td><a href=${address(`/c/${encodeURIComponent(one.name)}`)}>${one.name}</a>${one.paused && html` <${Dot} level="warning" word="paused" />`}</td><td>${one.queued + one.delayed}</td><td>${one.processing}</td><td>${one.runs}</td>
          <td>${one.failures ? html`<${Dot} level="bad" word=${one.failures} />` : 0}</td></tr>`)}</tbody></table>`
        : html`<${Empty}>No controller has reported in the last 10 seconds.<//>`)}
    <//>`}
  </section>`;
}

function LastRuns() {
  const state = usePoll(hasLedger() ? ledger("runs", { limit: 8, at: at.value }) : null);
  if (!hasLedger()) return null;
  return html`<section class="panel" aria-labelledby="runs"><h2 id="runs"><a href=${address("/runs")}>Last runs</a></h2>
    <${Answer} of=${state}>${({ items }) => (items.length ? html`<ul class="list">${items.toReversed().map((run) => html`<li key=${run.id}>
      <${Dot} level=${run.failed ? "bad" : "ok"} word=${run.failed ? "failed" : "succeeded"} quiet /> <a href=${runPage(run.id)}>${run.controller} ${run.key}</a> <span class="muted">· <${Trigger} of=${run.triggers?.[0]} /></span></li>`)}</ul>`
      : html`<${Empty}>No run yet.<//>`)}<//></section>`;
}

function KindCounts() {
  const shown = kinds.value.filter((kind) => kind.count).sort((a, b) => b.count - a.count).slice(0, 14);
  return html`<section class="panel" aria-labelledby="kinds"><h2 id="kinds">Objects</h2>
    <table><tbody>${shown.map((kind) => html`<tr key=${nameOf(kind)}><td><a href=${address(`/o/${encodeURIComponent(nameOf(kind))}`)}>${nameOf(kind)}</a></td><td class="number">${kind.count.toLocaleString()}</td></tr>`)}</tbody></table></section>`;
}

function LastEvents() {
  const state = usePoll("/api/v1/events?limit=500");
  return html`<section class="panel" aria-labelledby="warnings"><h2 id="warnings">Warnings</h2>
    <${Answer} of=${state}>${({ items }) => {
      const when = (event) => event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp;
      const warnings = items.filter((event) => event.type === "Warning").sort((a, b) => when(b).localeCompare(when(a))).slice(0, 8);
      return warnings.length ? html`<ul class="list findings">${warnings.map((event) => html`<li key=${event.metadata.uid}><${Dot} level="warning" word="warning" quiet />
        <div><strong>${event.reason}</strong> ${event.message}<div class="muted">${event.involvedObject.kind} ${event.involvedObject.name} · <${Age} of=${when(event)} /> ago</div></div></li>`)}</ul>`
        : html`<${Empty}>No warning events.<//>`;
    }}<//></section>`;
}

export function Overview() {
  return html`<div class="page"><h1>Overview</h1><${Findings} />
    <div class="grid"><${ControllerList} /><${LastRuns} /><${LastEvents} /><${KindCounts} /></div></div>`;
}
