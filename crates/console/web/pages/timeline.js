// What happened to an object, newest first: changes, runs of controllers, events and refusals, with what is pending on top.
import { ledger } from "../api.js";
import { hasLedger, ledgerObject, objectPage, nameOf } from "../kinds.js";
import { Dot, Empty } from "../parts.js";
import { at } from "../route.js";
import { clock, span, took } from "../time.js";
import { usePoll } from "../stream.js";
import { html, useSignal } from "../ui.js";
import { diffRows } from "../diff.js";
import { readable, yamlLines } from "../yaml.js";
import { Finding, NO_LEDGER } from "./overview.js";
import { runPage, RequestLine, Trigger } from "./run.js";
import { Denial } from "./requests.js";

const TYPES = [["change", "Changes"], ["run", "Runs"], ["event", "Events"], ["denial", "Refusals"], ["unchanged", "No-ops"]];

/** The changes that this tab has seen, for servers without a ledger. */
function seenChanges(seen) {
  return seen.slice(1).map(({ object, time }, n) => {
    const rows = diffRows(...[seen[n].object, object].map((one) => yamlLines(readable(one)).map((line) => line.text).filter((text) => !/^  (resourceVersion|generation):/.test(text))), 0);
    const changed = rows.filter((row) => row.kind === "added" || row.kind === "removed").length;
    const last = (object.metadata.managedFields ?? []).toSorted((a, b) => (a.time ?? "").localeCompare(b.time ?? "")).at(-1);
    return { type: "change", time, change: { revision: object.metadata.resourceVersion, summary: `${changed} lines changed`, fieldManager: last?.manager } };
  });
}

function events(items) {
  return items.map((event) => ({ type: "event", time: event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp, event }));
}

/** Folds equal neighbours, as retries are. */
function fold(items) {
  const out = [];
  const text = ({ type, run, denial, request, event }) => JSON.stringify([type, run && [run.controller, run.result, run.triggers?.[0]?.cause], denial?.message, request && [request.verb, request.fieldManager], event?.metadata.uid]);
  for (const item of items) {
    const last = out.at(-1);
    if (last && item.type !== "change" && text(last) === text(item)) last.times += 1;
    else out.push({ ...item, times: 1 });
  }
  return out;
}

export function Timeline({ kind, namespace, name, object, seen }) {
  const hidden = useSignal(new Set());
  const story = usePoll(hasLedger() ? ledger("timeline", { ...ledgerObject(kind, namespace, name), at: at.value, limit: 200 }) : null).value;
  const where = namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  const told = usePoll(`/api/v1${where}/events?fieldSelector=${encodeURIComponent(`involvedObject.uid=${object.metadata.uid}`)}`).value;
  const known = story?.code < 400 ? story.body : { items: hasLedger() ? [] : seenChanges(seen), pending: [], findings: [] };
  const happened = [...known.items, ...(told?.code < 400 ? events(told.body.items ?? []) : [])];
  const shown = fold(happened.filter((item) => !hidden.value.has(item.type)).sort((a, b) => (b.time ?? "").localeCompare(a.time ?? "")));
  const toggle = (type) => {
    const next = new Set(hidden.peek());
    if (!next.delete(type)) next.add(type);
    hidden.value = next;
  };
  const page = (revision) => objectPage(nameOf(kind), namespace, name, { tab: "history", revision });
  return html`${known.findings?.length > 0 && html`<ul class="list findings panel">${known.findings.map((finding, n) => html`<${Finding} key=${n} finding=${finding} />`)}</ul>`}
    <fieldset class="chips" style=${{ border: 0, padding: 0, margin: 0 }}><legend class="unseen">Shown</legend>${TYPES.map(([type, title]) => html`<label key=${type}><input type="checkbox" checked=${!hidden.value.has(type)} onChange=${() => toggle(type)} />${title}</label>`)}</fieldset>
    ${!hasLedger() && html`<p class="muted">${NO_LEDGER} Changes are those that this tab has seen.</p>`}
    ${shown.length || known.pending?.length ? html`<ol class="timeline">
      ${known.pending?.map((one, n) => html`<${Pending} key=${`p${n}`} one=${one} />`)}
      ${shown.map((item) => html`<${Item} key=${`${item.type}${item.time}${item.run?.id ?? item.change?.revision ?? item.event?.metadata.uid ?? ""}`} item=${item} page=${page} />`)}</ol>`
      : html`<${Empty}>Nothing has happened that is still known.<//>`}`;
}

function Pending({ one }) {
  const words = one.running ? "is running now" : one.dueInSeconds > 0 ? `is due in ${span(one.dueInSeconds)}` : "is queued";
  return html`<li class="pending"><span class="muted">pending</span><span>run</span><div class="what">${one.controller} ${words} <span class="by"><${Trigger} of=${one.pendingTrigger} /></span></div></li>`;
}

function Item({ item, page }) {
  const bad = item.run?.failed || item.type === "denial" || item.event?.type === "Warning";
  return html`<li class=${bad ? "bad" : item.type}><time datetime=${item.time} title=${item.time}>${clock(item.time)}</time>
    <span class="muted">${{ change: "change", run: "run", event: "event", denial: "refused", unchanged: "no-op" }[item.type]}</span>
    <div class="what">${item.type === "change" && html`<${Change} change=${item.change} page=${page} />`}
      ${item.type === "run" && html`<${RunItem} run=${item.run} />`}
      ${item.type === "event" && html`<${Event} event=${item.event} />`}
      ${item.type === "denial" && html`<${Denial} denial=${item.denial} />`}
      ${item.type === "unchanged" && html`<${RequestLine} request=${item.request} /> <span class="by">changed nothing</span>`}
      ${item.times > 1 && html` <span class="by">× ${item.times}</span>`}</div></li>`;
}

/** Who made a change, as far as it is known. */
export function By({ of }) {
  const who = of.fieldManager || of.userAgent?.split(/[/ ]/)[0] || of.user;
  return html`<span class="by">${who ? `by ${who}` : ""}${of.run ? html` in <a href=${runPage(of.run)}>run ${of.run.split("/").at(-1)}</a>`
    : of.guessedRun ? html`, probably in <a href=${runPage(of.guessedRun)}>run ${of.guessedRun.split("/").at(-1)}</a>` : ""}</span>`;
}

function Change({ change, page }) {
  const text = change.summary || change.change;
  return html`<a href=${page(change.revision)}>${text}</a> <${By} of=${change} />`;
}

function RunItem({ run }) {
  return html`<${Dot} level=${run.failed ? "bad" : "ok"} word=${run.failed ? "failed" : "succeeded"} quiet /> <a href=${runPage(run.id)}>${run.controller}: ${run.result}</a>
    <span class="by"> ${took(run.durationSeconds)} · <${Trigger} of=${run.triggers?.[0]} /></span>
    ${run.requests?.length > 0 && html`<ul class="list">${run.requests.slice(0, 6).map((request, n) => html`<li key=${n}><${RequestLine} request=${request} /></li>`)}</ul>`}`;
}

function Event({ event }) {
  return html`<strong>${event.reason}</strong> ${event.message} <span class="by">by ${event.source?.component || event.reportingComponent || "unknown"}${event.count > 1 ? ` × ${event.count}` : ""}</span>`;
}
