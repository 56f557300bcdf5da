// Text to apply: a dry run shows what would change, and then it is applied as the field manager `console`.
import { get, query, send } from "../api.js";
import { apiPath, kindOfObject, loadKinds, nameOf, objectPage } from "../kinds.js";
import { Problem, Warnings } from "../parts.js";
import { html, useSignal } from "../ui.js";
import { Diff } from "./diffview.js";
import { parse } from "./edit.js";

async function applyOne(object, { dry, force }) {
  const kind = kindOfObject(object);
  const title = `${object.kind ?? "object"} ${object.metadata?.name ?? ""}`;
  if (!kind) return { title, error: { message: `The cluster does not serve kind ${object.kind} of ${object.apiVersion}.` } };
  if (!object.metadata?.name) return { title, error: { message: "metadata.name is missing: generated names cannot be applied." } };
  const namespace = kind.namespaced ? object.metadata.namespace ?? "default" : "";
  const version = object.apiVersion.split("/").at(-1);
  const known = { ...kind, version };
  const path = apiPath(known, namespace, object.metadata.name);
  const how = query({ fieldManager: "console", fieldValidation: "Strict", force: force ? "true" : "", dryRun: dry ? "All" : "" });
  try {
    // A list: an object that does not exist yet is no error.
    const list = await get(apiPath(known, namespace) + query({ fieldSelector: `metadata.name=${object.metadata.name}` }));
    const before = list.items[0] ? { apiVersion: object.apiVersion, kind: object.kind, ...list.items[0] } : null;
    const { value, warnings } = await send("PATCH", path + how, { body: object, type: "application/apply-patch+yaml" });
    return { title, before, after: value, warnings, page: objectPage(nameOf(kind), namespace, object.metadata.name) };
  } catch (error) {
    return { title, error };
  }
}

export function Apply() {
  const text = useSignal("");
  const force = useSignal(false);
  const results = useSignal(null);
  const busy = useSignal(false);
  const run = async (dry) => {
    busy.value = true;
    results.value = null;
    try {
      const found = [];
      for (const object of await parse(text.value)) {
        found.push(await applyOne(object, { dry, force: force.value }));
        if (!dry && object.kind === "CustomResourceDefinition") await loadKinds();
      }
      results.value = { dry, found };
    } catch (error) {
      results.value = { error };
    }
    busy.value = false;
  };
  const drop = async (event) => {
    event.preventDefault();
    const files = [...event.dataTransfer.files];
    if (files.length) text.value = (await Promise.all(files.map((file) => file.text()))).join("\n---\n");
  };
  const { dry, found, error } = results.value ?? {};
  return html`<div class="page"><h1>Apply</h1>
    <textarea aria-label="YAML or JSON to apply" spellcheck=${false} placeholder="Paste YAML or JSON, or drop files here" value=${text.value}
      onInput=${(event) => (text.value = event.target.value)} onDragOver=${(event) => event.preventDefault()} onDrop=${drop}></textarea>
    <div class="buttons"><label><input type="checkbox" checked=${force.value} onChange=${(event) => (force.value = event.target.checked)} /> Take fields over from other managers</label>
      <button disabled=${busy.value || !text.value.trim()} onClick=${() => run(true)}>Dry run</button><button class="primary" disabled=${busy.value || !text.value.trim()} onClick=${() => run(false)}>Apply</button></div>
    ${error && html`<${Problem} error=${error} />`}
    ${found?.map((one, n) => html`<section key=${n} class="panel"><h2>${one.page && (!dry || one.before) ? html`<a href=${one.page}>${one.title}</a>` : one.title}
      <span class="muted"> ${one.error ? "refused" : dry ? (one.before ? "would be changed so" : "would be created") : one.before ? "applied" : "created"}</span></h2>
      ${one.error && html`<${Problem} error=${one.error} />`}<${Warnings} list=${one.warnings} />
      ${one.after && html`<${Diff} before=${one.before} after=${one.after} />`}</section>`)}</div>`;
}
