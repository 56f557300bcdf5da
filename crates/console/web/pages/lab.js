// Experiments on a cluster of this program: faults, its clock, and forks.
import { get, send } from "../api.js";
import { pageOf } from "../kinds.js";
import { Age, Answer, Dot, Empty, Problem, say } from "../parts.js";
import { span } from "../time.js";
import { usePoll } from "../stream.js";
import { html, useSignal } from "../ui.js";

export const LAB = "/kubewright/v1/console/lab";

/** The faults with their title and the fields that they have. */
const FAULTS = {
  conflict: ["409 Conflict", {}],
  gone: ["410 Gone", {}],
  tooManyRequests: ["429 Too Many Requests", { retryAfter: 1 }],
  refuse: ["Another error", { code: 500, reason: "InternalError", message: "injected by the console" }],
  dropWatch: ["Break the watch", { after: 0 }],
  slowWatch: ["Slow down the watch", { milliseconds: 500 }],
};

const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

const SELECTION = { resource: "Resource", name: "Name", namespace: "Namespace", client: "Client begins with" };

/** Performs an action; the page follows by its subscription. */
async function act(action, done) {
  try {
    await send("POST", LAB, { body: action });
    if (done) say(done);
  } catch (error) {
    say(error.message);
  }
}

export function Lab() {
  const state = usePoll(LAB);
  return html`<div class="page"><h1>Lab</h1>
    <p class="muted">Experiments on the cluster of this program. Faults hit the requests of all clients except this page.</p>
    <${Answer} of=${state}>${(body) => html`<${Faults} lab=${body} /><div class="grid"><${Time} lab=${body} /><${Store} lab=${body} /></div><${Forks} lab=${body} />`}<//></div>`;
}

function Faults({ lab }) {
  const type = useSignal("conflict");
  const submit = (event) => {
    event.preventDefault();
    const form = event.target.elements;
    const fields = Object.entries(FAULTS[type.value][1]).map(([name, value]) => [name, typeof value === "number" ? Number(form[name].value) : form[name].value]);
    const on = Object.fromEntries(["verb", ...Object.keys(SELECTION)].map((name) => [name, form[name].value.trim()]).filter(([, value]) => value));
    act({ do: "inject", fault: { type: type.value, ...Object.fromEntries(fields) }, on, times: Number(form.times.value) }, "Injected the fault");
  };
  const more = Object.entries(FAULTS[type.value][1]);
  return html`<section class="panel" aria-labelledby="faults"><h2 id="faults">Faults</h2>
    ${lab.faults.length ? html`<table><thead><tr>${["Fault", "Requests", "Times", ""].map((title) => html`<th key=${title} scope="col">${title || html`<span class="unseen">Remove</span>`}</th>`)}</tr></thead><tbody>
      ${lab.faults.map(({ id, fault, on, times }) => html`<tr key=${id}><td><${Dot} level="warning" word=${FAULTS[fault.type]?.[0] ?? fault.type} /></td><td>${Object.entries(on).map(([name, value]) => `${name}=${value}`).join(" ") || "all"}</td><td>${times}</td>
        <td><button onClick=${() => act({ do: "remove", id })}>Remove</button></td></tr>`)}</tbody></table>` : html`<${Empty}>No fault is planned.<//>`}
    <form class="toolbar" onSubmit=${submit}>
      <label>Fault <select name="type" value=${type.value} onChange=${(event) => (type.value = event.target.value)}>${Object.entries(FAULTS).map(([id, [title]]) => html`<option key=${id} value=${id}>${title}</option>`)}</select></label>
      ${more.map(([name, value]) => html`<label key=${type.value + name}>${name} <input name=${name} size=${typeof value === "number" ? 5 : 20} defaultValue=${value} /></label>`)}
      <label>Verb <select name="verb"><option value="">any</option>${VERBS.map((verb) => html`<option key=${verb}>${verb}</option>`)}</select></label>
      ${Object.entries(SELECTION).map(([name, title]) => html`<label key=${name}>${title} <input name=${name} size="12" placeholder="any" /></label>`)}
      <label>Times <input name="times" type="number" min="1" defaultValue="1" size="4" /></label>
      <button class="primary">Inject</button></form>
    <div class="buttons"><button disabled=${!lab.faults.length && !lab.down} onClick=${() => act({ do: "clear" }, "Removed all faults")}>Remove all</button>
      <button onClick=${() => act({ do: "closeWatches" }, "Closed all watches")}>Close all watches</button>
      <button class=${lab.down ? "primary" : "danger"} onClick=${() => act({ do: lab.down ? "up" : "down" })}>${lab.down ? "Bring the server back" : "Take the server down"}</button></div></section>`;
}

/** The clock of the server in words. */
export function clockWords({ rate, offsetSeconds }) {
  const speed = rate === 0 ? "The clock stands still" : rate === 1 ? "The clock runs" : `The clock runs ${rate} times as fast`;
  const ahead = Math.abs(offsetSeconds) > 1 ? `, ${span(Math.abs(offsetSeconds))} ${offsetSeconds > 0 ? "ahead of" : "behind"} this machine` : "";
  return `${speed}${ahead}.`;
}

function Time({ lab }) {
  const advance = (seconds) => act({ do: "advance", seconds }, `Advanced by ${span(seconds)}`);
  return html`<section class="panel" aria-labelledby="time"><h2 id="time">Time</h2>
    <p>${clockWords(lab)} <span class="muted">It sets the times that the server writes. Timers of programs are not affected.</span></p>
    <div class="toolbar">${lab.rate === 0 ? html`<button class="primary" onClick=${() => act({ do: "rate", rate: 1 })}>Let it run</button>` : html`<button onClick=${() => act({ do: "rate", rate: 0 })}>Freeze</button>`}
      <button onClick=${() => act({ do: "rate", rate: 60 })}>60 times as fast</button>
      ${[[60, "1 minute"], [3600, "1 hour"], [86400, "1 day"]].map(([seconds, title]) => html`<button key=${seconds} onClick=${() => advance(seconds)}>Advance ${title}</button>`)}</div></section>`;
}

function Store({ lab }) {
  return html`<section class="panel" aria-labelledby="store"><h2 id="store">History</h2>
    <p class="muted">${lab.inMemory ? "After a compaction, watches and lists from earlier revisions fail with 410." : "The objects of this cluster are on disk: it is neither compacted nor forked here."}</p>
    <button disabled=${!lab.inMemory} onClick=${() => act({ do: "compact" }, "Compacted")}>Compact now</button></section>`;
}

function Forks({ lab }) {
  return html`<section class="panel" aria-labelledby="forks"><h2 id="forks">Forks</h2>
    <p class="muted">A fork is a cluster with the same objects, to try changes on. It has the default controllers, but no nodes, and nobody else uses it.</p>
    ${lab.forks.map((fork) => html`<${Fork} key=${fork.number} fork=${fork} />`)}
    <button class="primary" disabled=${!lab.inMemory} onClick=${() => act({ do: "fork" }, "Forked the cluster")}>Fork</button></section>`;
}

function Fork({ fork }) {
  const found = useSignal(null);
  const compare = async () => {
    try {
      found.value = await get(`${LAB}/compare?number=${fork.number}`);
    } catch (error) {
      found.value = { error };
    }
  };
  const { items, truncated, error } = found.value ?? {};
  return html`<div class="toolbar"><a href=${fork.url} target="_blank" rel="noopener noreferrer">Console of fork ${fork.number}</a><span class="muted"><${Age} of=${fork.since} /> old</span>
      <button onClick=${compare}>Compare</button><button class="danger" onClick=${() => act({ do: "drop", number: fork.number }, "Stopped the fork")}>Stop</button></div>
    ${error && html`<${Problem} error=${error} />`}
    ${items && (items.length ? html`<ul class="list findings">${items.map((one) => html`<li key=${one.resource + one.namespace + one.name}><${Dot} level=${{ created: "ok", deleted: "bad", updated: "wait" }[one.change]} word=${one.change} />
      <div><a href=${pageOf(one)}>${one.resource} ${one.namespace ? `${one.namespace}/` : ""}${one.name}</a><ul class="list mono">${one.diff.slice(0, 8).map((field, n) => html`<li key=${n}>${field.path}: ${JSON.stringify(field.before) ?? "nothing"} → ${JSON.stringify(field.after) ?? "nothing"}</li>`)}</ul></div></li>`)}</ul>`
      : html`<${Empty}>The fork has the same objects.<//>`)}
    ${truncated && html`<p class="muted">There are more.</p>`}`;
}
