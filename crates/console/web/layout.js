// What surrounds every page: the header with the time, and the kinds at the side.
import { hasLedger, kinds, nameOf, session } from "./kinds.js";
import { Dot } from "./parts.js";
import { address, at, choose, segments } from "./route.js";
import { connection, usePoll } from "./stream.js";
import { html } from "./ui.js";
import { help } from "./keys.js";
import { recorded } from "./recorded.js";
import { nextTheme, theme } from "./theme.js";

const CONNECTION = {
  live: ["ok", "live"], connecting: ["wait", "connecting"], paused: ["none", "paused"], lost: ["bad", "not connected"],
  recorded: ["none", "a recording"],
};

/** The slider over the revisions that the server still has. */
function Travel() {
  const state = usePoll(hasLedger() ? "/kubewright/v1" : null);
  const known = state.value?.body;
  if (!known?.revision) return null;
  const shown = at.value ?? known.revision;
  const move = (event) => {
    const to = Number(event.target.value);
    choose({ at: to >= known.revision ? null : String(to) });
  };
  return html`<label class="travel"><span class="muted">Revision ${shown}</span>
    <input type="range" min=${known.oldestRevision} max=${known.revision} value=${shown} onChange=${move}
      aria-label="Revision that the pages show" /></label>`;
}

/** The end of a session, by its name: `2026-11-19T22-40-01.123Z` is `2026-11-19 22:40 UTC`. */
export function sessionTime(name) {
  return name.replace(/^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d).*/, "$1 $2:$3 UTC");
}

/** The sessions that have ended and were saved. Each is shown by pages of its own. */
function Sessions() {
  const names = session.value?.sessions ?? [];
  if (!names.length) return null;
  return html`<select aria-label="Session" onChange=${(event) => event.target.value && location.assign(`/?session=${encodeURIComponent(event.target.value)}`)}>
    <option value="">Running session</option>${names.map((name) => html`<option key=${name} value=${name}>${sessionTime(name)}</option>`)}</select>`;
}

export function Top() {
  const [level, word] = CONNECTION[connection.value] ?? CONNECTION.connecting;
  const version = session.value?.version;
  return html`<header class="top">
    <a class="brand" href=${address("/")}><img src=${recorded?.icon ?? "/app/icon.svg"} alt="" />${session.value?.title ?? "Kubewright"}</a>
    <span class="muted">${version?.gitVersion ? `Kubernetes ${version.gitVersion}` : ""}</span>
    <span class="grow"></span>
    <${Sessions} /><${Travel} />
    <span class="state"><${Dot} level=${level} word=${word} /></span>
    <button class="plain" title="Light, dark, or as the system (t)" onClick=${nextTheme}>${{ auto: "Auto", light: "Light", dark: "Dark" }[theme.value]}</button>
    <button class="plain" onClick=${help} aria-label="Keys"><kbd aria-hidden="true">?</kbd></button>
  </header>`;
}

const PAGES = [["/", "Overview"], ["/c", "Controllers"], ["/runs", "Runs"], ["/requests", "Requests"], ["/metrics", "Metrics"], ["/apply", "Apply"]];

/** The pages that this console has, by what it says about itself. */
function pages() {
  const { lab, perturbations } = session.value ?? {};
  if (recorded) return PAGES.filter(([path]) => !["/metrics", "/apply"].includes(path));
  return [...PAGES, ...(perturbations ? [["/perturb", "Perturbations"]] : []), ...(lab ? [["/lab", "Lab"]] : [])];
}

const BUILT_IN = /^$|^(apps|batch|autoscaling|policy)$|\.k8s\.io$/;

function Kinds({ title, list, current }) {
  if (!list.length) return null;
  return html`<h2>${title}</h2><ul>${list.map((kind) => html`<li key=${nameOf(kind)}>
    <a href=${address(`/o/${encodeURIComponent(nameOf(kind))}`)} aria-current=${nameOf(kind) === current ? "page" : undefined} title=${nameOf(kind)}>
      <span>${kind.resource}</span><span class="count">${kind.count?.toLocaleString() ?? "–"}</span></a></li>`)}</ul>`;
}

export function Side() {
  const [page, kind] = segments.value;
  const here = page ? `/${page}` : "/";
  const all = kinds.value;
  const own = all.filter(({ group }) => !BUILT_IN.test(group));
  const builtIn = all.filter(({ group }) => BUILT_IN.test(group));
  const current = page === "o" ? kind : "";
  return html`<nav class="side" aria-label="Pages and kinds">
    <ul>${pages().map(([path, title]) => html`<li key=${path}><a href=${address(path)} aria-current=${path === here ? "page" : undefined}><span>${title}</span></a></li>`)}</ul>
    <${Kinds} title="Custom kinds" list=${own} current=${current} />
    <${Kinds} title="Kinds with objects" list=${builtIn.filter((one) => one.count)} current=${current} />
    <${Kinds} title="Without objects" list=${builtIn.filter((one) => !one.count)} current=${current} />
  </nav>`;
}
