// The objects above and below an object.
import { get, query } from "../api.js";
import { objectPage } from "../kinds.js";
import { objectHealth } from "../health.js";
import { Age, Dot, Empty, Problem } from "../parts.js";
import { at } from "../route.js";
import { html, useEffect, useSignal } from "../ui.js";

export function treePath(uid, namespace, at) {
  return `/kubewright/v1/console/tree${query({ uid, namespace, at })}`;
}

function Node({ node }) {
  const health = objectHealth(node);
  const name = html`<span class="kind">${node.kind}</span> ${node.name}`;
  const page = node.resource && objectPage(node.group ? `${node.resource}.${node.group}` : node.resource, node.namespace, node.name);
  return html`<div>${health ? html`<${Dot} ...${health} quiet />` : html`<${Dot} level="none" word="no state" quiet />`}
    ${page ? html`<a href=${page}>${name}</a>` : html`<span>${name}</span>`}
    ${node.missing && html`<${Dot} level="bad" word="does not exist" />`}${health && html`<span class="muted">${health.word}</span>`}
    ${node.created && html`<span class="muted"><${Age} of=${node.created} /></span>`}</div>`;
}

/** An object and all that it owns, as a nested list. */
export function TreeNode({ node }) {
  return html`<li><${Node} node=${node} />${node.owns?.length > 0 && html`<ul>${node.owns.map((child) => html`<${TreeNode} key=${child.uid} node=${child} />`)}</ul>`}</li>`;
}

export function Tree({ object }) {
  const state = useSignal(null);
  const { uid, namespace, resourceVersion } = object.metadata;
  useEffect(() => {
    let gone = false;
    const load = () => get(treePath(uid, namespace, at.value)).then((tree) => !gone && (state.value = { tree }), (error) => !gone && (state.value = { error }));
    load();
    // The past does not change.
    const timer = at.value === null ? setInterval(() => !document.hidden && load(), 3_000) : 0;
    return () => {
      gone = true;
      clearInterval(timer);
    };
  }, [uid, resourceVersion, at.value]);
  const { tree, error } = state.value ?? {};
  if (error) return html`<${Problem} error=${error} />`;
  if (!tree) return html`<p class="empty" aria-busy="true">Loading …</p>`;
  return html`<section class="panel"><h2>Owners</h2>${tree.owners.length
      ? html`<ul class="tree">${tree.owners.map((node) => html`<li key=${node.uid}><${Node} node=${node} /></li>`)}</ul>` : html`<${Empty}>No object owns this one.<//>`}</section>
    <section class="panel"><h2>Owned objects</h2>${tree.object.owns.length
      ? html`<ul class="tree"><${TreeNode} node=${tree.object} /></ul>` : html`<${Empty}>It owns no object.<//>`}
      ${tree.omitted > 0 && html`<p class="muted">and ${tree.omitted.toLocaleString()} more</p>`}
      ${tree.unseen.length > 0 && html`<p class="muted">Not shown for lack of permission: ${tree.unseen.join(", ")}</p>`}</section>`;
}
