// The revisions of an object: chosen at the left, their difference at the right.
import { ledger, send } from "../api.js";
import { apiPath, hasLedger, ledgerObject, objectAt, objectPage, nameOf } from "../kinds.js";
import { Empty, Problem, copy, say } from "../parts.js";
import { ask } from "../dialog.js";
import { recorded } from "../recorded.js";
import { at, choose, params } from "../route.js";
import { clock } from "../time.js";
import { usePoll } from "../stream.js";
import { html, useEffect, useSignal } from "../ui.js";
import { readable } from "../yaml.js";
import { Diff, PARTS } from "./diffview.js";
import { By } from "./timeline.js";

/** The revisions, newest first, and a function that gets the object of one. */
function useRevisions({ kind, namespace, name, seen }) {
  const state = usePoll(hasLedger() ? ledger("history", { ...ledgerObject(kind, namespace, name), at: at.value, limit: 200 }) : null).value;
  if (hasLedger()) {
    return {
      problem: state?.code >= 400 ? state : null, waits: !state, complete: state?.body.complete,
      items: (state?.code < 400 ? state.body.items : []).toReversed(),
      load: (revision) => objectAt(kind, namespace, name, revision),
    };
  }
  const items = seen.map(({ object, time }) => ({ revision: object.metadata.resourceVersion, time, summary: "" })).reverse();
  return { items, complete: false, load: async (revision) => seen.find(({ object }) => object.metadata.resourceVersion === revision)?.object };
}

export function History(props) {
  const { kind, namespace, name, object } = props;
  const { items, complete, problem, waits, load } = useRevisions(props);
  const pair = useSignal(null);
  const part = params.value.part in PARTS ? params.value.part : "all";
  const chosen = items.find(({ revision }) => String(revision) === params.value.revision) ?? items[0];
  const older = items.find(({ revision }) => String(revision) === params.value.against) ?? items[items.indexOf(chosen) + 1];
  useEffect(() => {
    let gone = false;
    pair.value = null;
    if (!chosen) return;
    const get = (one) => (one && one.change !== "deleted" ? load(one.revision) : Promise.resolve(null));
    Promise.all([get(older), get(chosen)]).then(([before, after]) => !gone && (pair.value = { before, after }), (error) => !gone && (pair.value = { error }));
    return () => (gone = true);
  }, [chosen?.revision, older?.revision]);
  if (problem) return html`<${Problem} code=${problem.code} error=${problem.body} />`;
  if (waits) return html`<p class="empty" aria-busy="true">Loading …</p>`;
  if (!chosen) return html`<${Empty}>No revision of this object is known any more.<//>`;
  const page = (revision) => objectPage(nameOf(kind), namespace, name, { tab: "history", revision, part: part === "all" ? "" : part });
  const { before, after, error } = pair.value ?? {};
  return html`<div class="split">
    <div><ol class="revisions panel" aria-label="Revisions">${items.map((item) => html`<li key=${item.revision}><a href=${page(item.revision)} aria-current=${item === chosen ? "true" : undefined}>
      <div><strong>${item.revision}</strong> <span class="muted">${clock(item.time)}</span></div><div>${item.summary || item.change}</div><div><${By} of=${{ ...item, run: undefined, guessedRun: undefined }} /></div></a></li>`)}</ol>
      ${!complete && html`<p class="muted">${hasLedger() ? "Older revisions have been compacted." : "These are the revisions that this tab has seen."}</p>`}</div>
    <div class="page" style=${{ padding: 0 }}>
      <div class="toolbar"><strong>${older ? `${older.revision} → ${chosen.revision}` : `Revision ${chosen.revision}`}</strong>
        <label class="muted">against <select onChange=${(event) => choose({ revision: String(chosen.revision), against: event.target.value })}>
          ${items.filter((item) => item !== chosen).map((item) => html`<option key=${item.revision} value=${item.revision} selected=${item === older}>${item.revision}</option>`)}</select></label>
        <select aria-label="Part of the object" onChange=${(event) => choose({ part: event.target.value === "all" ? "" : event.target.value })}>${Object.entries(PARTS).map(([id, title]) => html`<option key=${id} value=${id} selected=${id === part}>${title}</option>`)}</select>
        <span class="grow"></span>
        ${chosen.diff && html`<button onClick=${() => copy(JSON.stringify(chosen.diff, null, 2), "the difference")}>Copy as JSON</button>`}
        ${after && at.value === null && !recorded && chosen !== items[0] && html`<button onClick=${() => restore(kind, object, after)}>Restore this version</button>`}</div>
      ${error ? html`<${Problem} error=${error} />` : pair.value && html`<${Diff} before=${before} after=${after} part=${part} />`}
    </div></div>`;
}

function restore(kind, now, then) {
  ask("Restore this version?", {
    text: html`<p>The object becomes what it was at revision ${then.metadata.resourceVersion}, unless it has changed in between.</p>`,
    action: "Restore",
    confirm: async () => {
      const { resourceVersion } = now.metadata;
      const { metadata, ...rest } = readable(then);
      const { status: _, ...body } = rest;
      await send("PUT", `${apiPath(kind, metadata.namespace, metadata.name)}?fieldManager=console`, { body: { ...body, metadata: { ...metadata, resourceVersion, uid: now.metadata.uid } } });
      say("Restored");
    },
  });
}
