// The console's page: takes the token, opens the stream, and shows the page of the address.
import { keepStream, connection, usePoll } from "./stream.js";
import { loadKinds, loadSession, kinds, session } from "./kinds.js";
import { CommandLine, listenToKeys } from "./keys.js";
import { Dialog } from "./dialog.js";
import { later } from "./later.js";
import { notice, Problem } from "./parts.js";
import { address, at, choose, followLinks, segments } from "./route.js";
import { html, render, signal } from "./ui.js";
import { sessionTime, Side, Top } from "./layout.js";
import { applyTheme, nextTheme } from "./theme.js";
import { isFile, recorded } from "./recorded.js";
import { takeToken, token } from "./token.js";
import { Overview } from "./pages/overview.js";
import { Objects } from "./pages/objects.js";
import { ObjectPage } from "./pages/object.js";
import { Runs } from "./pages/runs.js";
import { Run } from "./pages/run.js";
import { Requests } from "./pages/requests.js";

/** Pages that are loaded when they are opened. */
const LATER = {
  c: later(() => import("./pages/controllers.js").then((module) => module.Controllers)),
  apply: later(() => import("./pages/apply.js").then((module) => module.Apply)),
  metrics: later(() => import("./pages/metrics.js").then((module) => module.Metrics)),
  lab: later(() => import("./pages/lab.js").then((module) => module.Lab)),
  perturb: later(() => import("./pages/perturb.js").then((module) => module.Perturb)),
};

const failure = signal(null);

function Page() {
  const [page, first, second, third, ...rest] = segments.value;
  if (!page) return html`<${Overview} />`;
  if (page === "o" && third && !rest.length) return html`<${ObjectPage} key=${`${first}/${second}/${third}`} resource=${first} namespace=${second === "-" ? "" : second} name=${third} />`;
  if (page === "o" && first && !second) return html`<${Objects} key=${first} resource=${first} />`;
  if (page === "runs" && third) return html`<${Run} key=${third} id=${`${first}/${second}/${third}`} />`;
  if (page === "runs") return html`<${Runs} />`;
  if (page === "requests") return html`<${Requests} />`;
  if (LATER[page]) return html`<${LATER[page]} key=${page} name=${first} />`;
  return html`<div class="page"><h1>There is no such page</h1><p><a href="/">Overview</a></p></div>`;
}

function Past() {
  if (at.value === null) return null;
  return html`<div class="past" role="status">This is revision ${at.value}. <button class="plain" onClick=${() => choose({ at: null })}>Back to now</button></div>`;
}

/** That a saved session is shown, on every page. */
function Ended() {
  if (!recorded?.session) return null;
  return html`<div class="past" role="status">This is a session that has ended: ${recorded.title ?? ""} ${sessionTime(recorded.session)}. <a href="/">Back to the running one</a></div>`;
}

/** What experiments are active, on every page. */
function Experiments() {
  const state = usePoll(session.value?.lab ? "/kubewright/v1/console/lab" : null);
  const lab = state.value?.code === 200 ? state.value.body : null;
  if (!lab?.active) return null;
  const words = [lab.down && "the server is down", lab.faults.length > 0 && `${lab.faults.length} ${lab.faults.length === 1 ? "fault is" : "faults are"} planned`, (lab.rate !== 1 || Math.abs(lab.offsetSeconds) > 1) && "the clock is changed"].filter(Boolean);
  return html`<div class="past" role="status">Experiment: ${words.join(", ")}. <a href=${address("/lab")}>Lab</a></div>`;
}

function App() {
  if (!isFile && (connection.value === "refused" || failure.value?.code === 401 || !token())) {
    return html`<main class="gate"><div class="panel"><h1>This address needs its token</h1>
      <p>Open the URL that <code>kubewright</code> printed. It ends with <code>#t=</code> and a token, which is new at each start.</p></div></main>`;
  }
  return html`<div class="shell">
    <${Top} />
    <${Side} />
    <main id="main" tabindex="-1">
      <${Ended} /><${Past} />${session.value && html`<${Experiments} />`}
      ${failure.value && html`<div class="page"><${Problem} error=${failure.value} /></div>`}
      ${session.value && kinds.value.length ? html`<${Page} />` : !failure.value && html`<div class="page empty" aria-busy="true">Loading …</div>`}
    </main>
    <${CommandLine} /><${Dialog} />
    <div role="status" aria-live="polite">${notice.value && html`<div class="notice">${notice.value}</div>`}</div>
  </div>`;
}

/** Loads what all pages need, and the counts of kinds now and then while the tab is visible. */
async function load() {
  try {
    await Promise.all([loadSession(), loadKinds()]);
    failure.value = null;
  } catch (error) {
    failure.value = error;
  }
}

if (!isFile) takeToken();
applyTheme();
followLinks();
listenToKeys({ t: nextTheme });
if (!isFile) {
  addEventListener("hashchange", () => {
    takeToken();
    location.reload();
  });
}
document.getElementById("app").replaceChildren();
render(html`<${App} />`, document.getElementById("app"));
if (recorded) {
  load();
} else if (token()) {
  load();
  keepStream();
  setInterval(() => !document.hidden && load(), 5_000);
}
