// One run of a controller: why it ran, what it asked for, what it wrote, and what followed.
import { ledger } from "../api.js";
import { pageOf } from "../kinds.js";
import { Age, Answer, Dot, Empty } from "../parts.js";
import { address, at } from "../route.js";
import { clock, took } from "../time.js";
import { usePoll } from "../stream.js";
import { html } from "../ui.js";

/** The page of a run by its id, `manager/controller/number`. */
export function runPage(id) {
  return address(`/runs/${id.split("/").map(encodeURIComponent).join("/")}`);
}

/** The reason of a run: the object that changed, and how. */
export function Trigger({ of }) {
  if (!of) return null;
  const { object, cause, source, resourceVersion } = of;
  if (!object) return html`<span>${source} ${cause}</span>`;
  return html`<span><a href=${pageOf(object, { tab: "history", revision: resourceVersion })}>${object.resource} ${object.name}</a> ${cause}${resourceVersion ? html` <span class="muted">at ${resourceVersion}</span>` : ""}</span>`;
}

/** A request in one line. */
export function RequestLine({ request }) {
  const { verb, resource, subresource, name, code, revision, durationSeconds } = request;
  const text = `${resource}${subresource ? `/${subresource}` : ""}${name ? ` ${name}` : ""}`;
  return html`<span class="mono">${verb}</span> ${name ? html`<a href=${pageOf(request, revision ? { tab: "history", revision } : {})}>${text}</a>` : text}${" "}
    <span class="muted">${code ?? ""}${revision ? ` → ${revision}` : ""}${durationSeconds === undefined ? "" : ` · ${took(durationSeconds)}`}</span>`;
}

/** The requests of a run by their time. */
function Waterfall({ run }) {
  if (!run.requests?.length) return html`<${Empty}>It made no request.<//>`;
  const all = Math.max(run.durationSeconds, 1e-6);
  const share = (seconds) => Math.min(100, (100 * (seconds ?? 0)) / all);
  return html`<table class="waterfall"><thead><tr><th scope="col">Request</th><th scope="col">Answer</th><th scope="col">Took</th><th scope="col">When in the run</th></tr></thead><tbody>
    ${run.requests.map((request, n) => html`<tr key=${n}><td><${RequestLine} request=${{ ...request, code: undefined, durationSeconds: undefined }} /></td>
      <td>${request.code >= 400 ? html`<${Dot} level="bad" word=${request.code} />` : request.code}</td><td>${took(request.durationSeconds)}</td>
      <td class="bar"><svg height="10" aria-hidden="true"><rect x=${`${share(request.startSeconds)}%`} y="1" rx="2" height="8" width=${`${Math.max(0.6, share(request.durationSeconds))}%`} /></svg></td></tr>`)}</tbody></table>`;
}

function DiffList({ diff }) {
  const text = (value) => (value === undefined ? "" : JSON.stringify(value));
  return html`<ul class="list mono">${(diff ?? []).slice(0, 40).map((one, n) => html`<li key=${n}>${one.path}: ${one.op === "add" ? text(one.after) : one.op === "remove" ? `${text(one.before)} removed` : `${text(one.before)} → ${text(one.after)}`}</li>`)}</ul>`;
}

function Content({ body }) {
  const run = body.run;
  return html`<div class="head"><h1>${run.controller} ${run.key}</h1><${Dot} level=${run.failed ? "bad" : "ok"} word=${run.result} /></div>
    <dl class="facts">${[["Run", run.run], ["Manager", run.manager], ["Ended", html`<${Age} of=${run.end} /> ago`], ["Took", took(run.durationSeconds)], ["Waited in the queue", took(run.queueSeconds)], run.attempt ? ["Attempt", run.attempt + 1] : null]
      .filter(Boolean).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
    <section class="panel"><h2>Why it ran</h2><ul class="list">${(run.triggers ?? []).map((trigger, n) => {
      const cause = body.causes?.find((one) => one.revision !== undefined && String(one.revision) === trigger.resourceVersion);
      return html`<li key=${n}><${Trigger} of=${trigger} /> <span class="muted">${clock(trigger.at)}</span>
        ${cause && html`<div class="muted">${cause.summary ? `${cause.summary}, ` : ""}written by ${cause.run ? html`<a href=${runPage(cause.run)}>run ${cause.run}</a>` : cause.user ?? "unknown"}</div>`}</li>`;
    })}</ul>${run.triggersDropped > 0 && html`<p class="muted">and ${run.triggersDropped} more</p>`}</section>
    <section class="panel"><h2>Requests</h2><${Waterfall} run=${run} />${run.requestsDropped > 0 && html`<p class="muted">and ${run.requestsDropped} more</p>`}</section>
    <section class="panel"><h2>What it wrote</h2>${body.wrote?.length ? html`<ul class="list">${body.wrote.map((one) => html`<li key=${one.revision}><a href=${pageOf(one, { tab: "history", revision: one.revision })}>${one.resource} ${one.name}</a> ${one.change} <span class="muted">at ${one.revision}</span><${DiffList} diff=${one.diff} /></li>`)}</ul>` : html`<${Empty}>It changed nothing.<//>`}
      ${body.unchanged?.length > 0 && html`<p><${Dot} level="warning" word=${`${body.unchanged.length} ${body.unchanged.length === 1 ? "request" : "requests"} changed nothing`} /></p>`}</section>
    ${body.caused?.length > 0 && html`<section class="panel"><h2>What followed</h2><ul class="list">${body.caused.map((id) => html`<li key=${id}><a href=${runPage(id)}>${id}</a></li>`)}</ul></section>`}
    ${run.log?.length > 0 && html`<section class="panel"><h2>Log</h2><ul class="list mono">${run.log.map((line, n) => html`<li key=${n}><span class="muted">${clock(line.time)}</span> ${line.level} ${line.message} <span class="muted">${Object.entries(line.fields ?? {}).map(([key, value]) => `${key}=${value}`).join(" ")}</span></li>`)}</ul></section>`}`;
}

export function Run({ id }) {
  const state = usePoll(ledger(`runs/${id.split("/").map(encodeURIComponent).join("/")}`, { at: at.value }));
  return html`<div class="page"><div class="crumbs"><a href=${address("/runs")}>Runs</a></div><${Answer} of=${state}>${(body) => html`<${Content} body=${body} />`}<//></div>`;
}
