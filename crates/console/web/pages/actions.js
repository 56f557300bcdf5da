// What one can do with an object.
import { get, send } from "../api.js";
import { apiPath } from "../kinds.js";
import { ask } from "../dialog.js";
import { say } from "../parts.js";
import { html, useSignal, useEffect } from "../ui.js";
import { TreeNode, treePath } from "./tree.js";

export function Actions({ kind, object }) {
  const { name, namespace, finalizers = [] } = object.metadata;
  const path = apiPath(kind, namespace, name);
  const patch = (body, done) => send("PATCH", `${path}?fieldManager=console`, { body, type: "application/merge-patch+json" }).then(() => say(done));
  const canScale = Number.isInteger(object.spec?.replicas);
  return html`<div class="toolbar">
    ${canScale && html`<button onClick=${() => scale(path, object)}>Scale</button>`}
    <button title="Adds an annotation, which triggers controllers that watch this object" onClick=${() =>
      patch({ metadata: { annotations: { "console.kubewright.dev/touched": new Date().toISOString() } } }, `Annotated ${name}`).catch((error) => say(error.message))}>Touch</button>
    ${finalizers.length > 0 && html`<button onClick=${() => ask("Remove all finalizers?", {
      text: html`<p>Controllers will not clean up after ${name}: ${finalizers.join(", ")}.</p>`,
      action: "Remove", typed: name,
      confirm: () => patch({ metadata: { finalizers: null, resourceVersion: object.metadata.resourceVersion } }, "Removed the finalizers"),
    })}>Remove finalizers</button>`}
    <button class="danger" onClick=${() => remove(kind, object, path)}>Delete</button>
  </div>`;
}

function scale(path, object) {
  let replicas = object.spec.replicas;
  ask(`Scale ${object.metadata.name}`, {
    text: html`<label>Replicas <input type="number" min="0" value=${replicas} autofocus onInput=${(event) => (replicas = Number(event.target.value))} /></label>`,
    action: "Scale",
    confirm: async () => {
      await send("PATCH", `${path}/scale?fieldManager=console`, { body: { spec: { replicas } }, type: "application/merge-patch+json" });
      say(`Scaled to ${replicas}`);
    },
  });
}

function remove(kind, object, path) {
  let propagationPolicy = "Background";
  const { name, uid, resourceVersion, namespace } = object.metadata;
  ask(`Delete ${kind.kind} ${name}?`, {
    text: html`<${WillGo} uid=${uid} namespace=${namespace} />
      <label>Dependents <select onChange=${(event) => (propagationPolicy = event.target.value)}>
        <option value="Background">are deleted after it</option><option value="Foreground">are deleted before it</option><option value="Orphan">stay</option></select></label>`,
    action: "Delete",
    confirm: async () => {
      await send("DELETE", path, { body: { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy, preconditions: { uid, resourceVersion } } });
      say(`Deleted ${name}`);
    },
  });
}

/** What the object owns, and so would go with it. */
function WillGo({ uid, namespace }) {
  const found = useSignal(null);
  useEffect(() => void get(treePath(uid, namespace)).then((tree) => (found.value = tree), () => {}), [uid]);
  const owns = found.value?.object?.owns ?? [];
  if (!owns.length) return null;
  return html`<p>It owns:</p><ul class="tree">${owns.map((node) => html`<${TreeNode} key=${node.uid} node=${node} />`)}</ul>`;
}
