// One object: its state at the top, and tabs for what happened to it, what it is, what it was and whom it belongs to.
import { apiPath, findKind, kindOfObject, nameOf, objectAt, objectPage } from "../kinds.js";
import { copyKeys, useKeys } from "../keys.js";
import { Age, Dot, Problem, Tabs } from "../parts.js";
import { address, at, go, params } from "../route.js";
import { objectHealth } from "../health.js";
import { later } from "../later.js";
import { recorded } from "../recorded.js";
import { usePoll } from "../stream.js";
import { html, useEffect, useRef, useSignal } from "../ui.js";
import { Timeline } from "./timeline.js";
import { YamlTab } from "./yaml.js";

const TABS = [
  ["timeline", "Timeline", Timeline], ["yaml", "YAML", YamlTab],
  ["history", "History", later(() => import("./history.js").then((module) => module.History))],
  ["tree", "Tree", later(() => import("./tree.js").then((module) => module.Tree))],
  ["ownership", "Ownership", later(() => import("./ownership.js").then((module) => module.Ownership))],
  ["edit", "Edit", later(() => import("./edit.js").then((module) => module.Edit))],
].filter(([id]) => !recorded || id !== "edit");

const Actions = later(() => import("./actions.js").then((module) => module.Actions));

/** The most states of an object that this tab remembers. */
const SEEN = 100;

/** Follows the object. Without a ledger, the states that this tab has seen are its history. */
function useObject(kind, namespace, name) {
  const live = usePoll(kind && at.value === null ? apiPath(kind, namespace, name) : null);
  const past = useSignal(null);
  const seen = useRef([]);
  useEffect(() => {
    past.value = null;
    if (!kind || at.value === null) return;
    objectAt(kind, namespace, name, at.value).then(
      (object) => (past.value = object ? { code: 200, body: object } : { code: 404, body: { message: "The object did not exist at this revision." } }),
      (error) => (past.value = { code: error.code, body: error.status }),
    );
  }, [kind?.path, namespace, name, at.value]);
  const answer = at.value === null ? live.value : past.value;
  const object = answer && answer.code < 400 ? answer.body : null;
  const version = object?.metadata?.resourceVersion;
  if (at.value === null && object && seen.current.at(-1)?.object.metadata.resourceVersion !== version) {
    seen.current = [...seen.current, { object, time: new Date().toISOString() }].slice(-SEEN);
  }
  return { answer, object: object ?? (answer ? null : undefined), seen: seen.current };
}

export function ObjectPage({ resource, namespace, name }) {
  const kind = findKind(resource);
  const { answer, object, seen } = useObject(kind, namespace, name);
  const tab = TABS.find(([id]) => id === params.value.tab) ?? TABS[0];
  const page = (id) => objectPage(resource, namespace, name, { tab: id === "timeline" ? "" : id });
  const kubectl = () => `kubectl get ${resource} ${name}${namespace ? ` -n ${namespace}` : ""} -o yaml`;
  useKeys({
    ...copyKeys(() => name, kubectl),
    e: () => go(page("edit")),
    ...Object.fromEntries(TABS.map(([id], n) => [String(n + 1), () => go(page(id), { replace: true })])),
  });
  if (!kind) return html`<div class="page"><h1>${name}</h1><${Problem} error=${{ message: `The cluster does not serve ${resource}.` }} /></div>`;
  const last = object ?? seen.at(-1)?.object;
  const View = tab[2];
  return html`<div class="page">
    <div class="crumbs"><a href=${address(`/o/${encodeURIComponent(resource)}`, { ns: namespace })}>${nameOf(kind)}</a>${namespace && html` / ${namespace}`}</div>
    <div class="head"><h1>${name}</h1>${last && html`<${State} object=${last} gone=${!object} />`}<span class="grow"></span>
      ${object && at.value === null && !recorded && html`<${Actions} ...${{ kind, object }} />`}</div>
    ${answer?.code >= 400 && html`<${Problem} code=${answer.code} error=${answer.body} />`}
    ${last && html`<${Facts} object=${last} />`}
    <${Tabs} label="Views of the object" tabs=${TABS} current=${tab[0]} href=${page} />
    <div id="panel" role="tabpanel" aria-labelledby=${`tab-${tab[0]}`} class="page" style=${{ padding: 0 }}>
      ${last ? html`<${View} ...${{ kind, namespace, name, object: last, seen }} />` : !answer && html`<p class="empty" aria-busy="true">Loading …</p>`}
    </div></div>`;
}

function State({ object, gone }) {
  if (gone) return html`<${Dot} level="none" word="deleted" />`;
  const known = objectHealth({ conditions: object.status?.conditions, phase: object.status?.phase, deleting: object.metadata.deletionTimestamp });
  const { generation } = object.metadata;
  const observed = object.status?.observedGeneration;
  const behind = observed !== undefined && generation !== undefined && observed < generation;
  return html`${known && html`<${Dot} ...${known} />`}${behind && html`<${Dot} level="bad" word=${`generation ${generation}, observed ${observed}`} />`}`;
}

function Facts({ object }) {
  const { creationTimestamp, deletionTimestamp, finalizers = [], ownerReferences = [], generation, namespace, labels = {} } = object.metadata;
  const owner = (reference) => {
    const kind = kindOfObject(reference);
    const text = `${reference.kind} ${reference.name}`;
    return kind ? html`<a href=${objectPage(nameOf(kind), kind.namespaced ? namespace : "", reference.name)}>${text}</a>` : text;
  };
  const facts = [
    ["Age", html`<${Age} of=${creationTimestamp} />`],
    deletionTimestamp && ["Being deleted for", html`<${Age} of=${deletionTimestamp} />`],
    generation !== undefined && ["Generation", generation],
    ["Revision", object.metadata.resourceVersion],
    ownerReferences.length > 0 && ["Owner", ownerReferences.map((one) => html`<span key=${one.uid}>${owner(one)} </span>`)],
    finalizers.length > 0 && ["Finalizers", finalizers.join(", ")],
    Object.keys(labels).length > 0 && ["Labels", Object.entries(labels).slice(0, 6).map(([key, value]) => html`<code key=${key}>${key}=${value} </code>`)],
    ...(object.status?.conditions ?? []).filter((one) => one?.type).slice(0, 8).map((one) => [one.type, html`<span title=${one.message}>${one.status}${one.reason ? ` (${one.reason})` : ""}</span>`]),
  ].filter(Boolean);
  return html`<dl class="facts">${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

