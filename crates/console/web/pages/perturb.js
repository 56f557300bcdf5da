// The saved results of perturbed tests: each perturbation at each of its positions, and what went wrong.
import { Age, Answer, copy, Dot, Empty } from "../parts.js";
import { choose, params } from "../route.js";
import { usePoll } from "../stream.js";
import { html } from "../ui.js";

const TITLES = {
  crash: "Crash after write", down: "Down during step", staleCache: "Caches behind by events", skipped: "State after step missed",
  leaseLost: "Lease lost after write", slowWebhooks: "Slow webhooks", webhookDown: "Webhook down at call",
  webhookWrong: "Wrong answer to webhook call", webhookDenied: "Denial at webhook call",
};

const LEVELS = { survived: "ok", missed: "none", failed: "bad" };

export function Perturb() {
  const state = usePoll("/kubewright/v1/console/perturbations");
  return html`<div class="page"><h1>Perturbations</h1><${Answer} of=${state}>${({ items }) => {
    if (!items.length) return html`<${Empty}>No results are saved. A test saves them with <code>perturb(…).save("target/kubewright/perturbations/NAME.json")</code>.<//>`;
    const shown = items.find(({ name }) => name === params.value.test) ?? items[0];
    return html`<div class="toolbar"><label>Test <select value=${shown.name} onChange=${(event) => choose({ test: event.target.value })}>${items.map(({ name }) => html`<option key=${name} value=${name} selected=${name === shown.name}>${name}</option>`)}</select></label>
        <span class="muted"><${Age} of=${shown.at} /> ago · ${shown.report.writes} writes, ${shown.report.steps} steps</span></div>
      <${Matrix} results=${shown.report.results} /><${Failures} results=${shown.report.results} />`;
  }}<//></div>`;
}

function Matrix({ results }) {
  const kinds = Object.keys(TITLES).filter((kind) => results.some((one) => one.kind === kind));
  if (!kinds.length) return null;
  const of = (kind) => results.filter((one) => one.kind === kind).sort((a, b) => (a.position ?? 0) - (b.position ?? 0));
  return html`<section class="panel" aria-labelledby="matrix"><h2 id="matrix">Results</h2><table><thead><tr><th scope="col">Perturbation</th><th scope="col">Survived</th><th scope="col">Positions</th></tr></thead>
    <tbody>${kinds.map((kind) => html`<tr key=${kind}><th scope="row">${TITLES[kind]}</th><td>${of(kind).filter((one) => one.outcome !== "failed").length} of ${of(kind).length}</td>
      <td class="wrap">${of(kind).map((one) => html`<span key=${one.title} title=${`${one.title}: ${one.outcome}`}><${Dot} level=${LEVELS[one.outcome]} word=${`${one.position ?? ""}${one.outcome === "survived" ? "" : ` ${one.outcome}`}`} /> </span>`)}</td></tr>`)}</tbody></table>
    <p class="muted">A missed perturbation never took effect, because the run took another course.</p></section>`;
}

function Failures({ results }) {
  const failed = results.filter((one) => one.outcome === "failed");
  if (!failed.length) return html`<p><${Dot} level="ok" word="All perturbations were survived" /></p>`;
  return failed.map((one) => html`<section class="panel" key=${one.title}><h2>${one.title}</h2>
    <ul class="list">${one.reason.split("; ").map((line, n) => html`<li key=${n}>${line}</li>`)}</ul>
    ${one.only && html`<div class="rule"><pre>${one.only}</pre><button onClick=${() => copy(one.only, "the call")}>Copy, to run it alone</button></div>`}
    ${(one.timelines ?? []).map((both) => html`<div key=${both.object}><h2>${both.object}</h2><div class="grid"><${Side} of=${`${one.title}, ${both.object}`} title="Undisturbed" text=${both.undisturbed} /><${Side} of=${`${one.title}, ${both.object}`} title="Perturbed" text=${both.perturbed} /></div></div>`)}</section>`);
}

function Side({ of, title, text }) {
  return html`<div><span class="muted">${title}</span><pre class="code plain" tabindex="0" role="region" aria-label=${`${title}: ${of}`}>${text || "nothing"}</pre></div>`;
}
