// The kinds of the cluster and the addresses of their objects.
import { get, query } from "./api.js";
import { address } from "./route.js";
import { signal } from "./ui.js";

/** All kinds that can be listed, with the number of their objects. */
export const kinds = signal([]);

/** What the console says about itself and its cluster. */
export const session = signal(null);

/** Sets a signal unless it has an equal value already, so that nothing is drawn again for nothing. */
function update(signal, value) {
  if (JSON.stringify(signal.peek()) !== JSON.stringify(value)) signal.value = value;
}

export async function loadSession() {
  const found = await get("/kubewright/v1/console/session");
  // Whether there is a ledger matters here, not how far it has come.
  update(session, { ...found, ledger: Boolean(found.ledger) });
}

export async function loadKinds() {
  const found = (await get("/kubewright/v1/console/kinds")).kinds;
  found.sort((a, b) => a.resource.localeCompare(b.resource) || a.group.localeCompare(b.group));
  update(kinds, found);
}

/** Whether the server keeps a ledger. */
export function hasLedger() {
  return Boolean(session.value?.ledger);
}

export function nameOf(kind) {
  return kind.group ? `${kind.resource}.${kind.group}` : kind.resource;
}

/** Finds a kind by its resource with or without the group, its kind, or a short name. */
export function findKind(word) {
  const text = (word ?? "").toLowerCase();
  const all = kinds.value;
  return all.find((kind) => nameOf(kind) === text)
    ?? all.find((kind) => kind.resource === text || kind.shortNames.includes(text))
    ?? all.find((kind) => kind.kind.toLowerCase() === text)
    ?? null;
}

export function kindOf(group, resource) {
  return kinds.value.find((kind) => kind.group === (group ?? "") && kind.resource === resource) ?? null;
}

/** Finds the kind of an object or of an owner reference. */
export function kindOfObject({ apiVersion = "", kind }) {
  const group = apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
  return kinds.value.find((one) => one.group === group && one.kind === kind) ?? null;
}

/** The path of an object in the API, or of the collection without a name. */
export function apiPath(kind, namespace, name) {
  const root = kind.group ? `/apis/${kind.group}/${kind.version}` : `/api/${kind.version}`;
  const scope = kind.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${scope}/${kind.resource}${name ? `/${encodeURIComponent(name)}` : ""}`;
}

/** The page of an object. */
export function objectPage(resource, namespace, name, more = {}) {
  const part = encodeURIComponent;
  return address(`/o/${part(resource)}/${part(namespace || "-")}/${part(name)}`, more);
}

/** The page of the object that the ledger names. */
export function pageOf({ group, resource, namespace, name }, more) {
  return objectPage(group ? `${resource}.${group}` : resource, namespace, name, more);
}

/** The parameters by which the ledger knows an object. */
export function ledgerObject(kind, namespace, name) {
  return { group: kind.group, resource: kind.resource, namespace: kind.namespaced ? namespace : "", name };
}

/** Gets an object as it was at a revision: from the ledger, or by an exact list, which every server answers for a while. */
export async function objectAt(kind, namespace, name, revision) {
  if (hasLedger()) {
    const found = await get(`/kubewright/v1/object${query({ ...ledgerObject(kind, namespace, name), version: kind.version, at: revision })}`);
    return found.object;
  }
  const list = await get(apiPath(kind, namespace) + query({
    fieldSelector: `metadata.name=${name}`, resourceVersion: revision, resourceVersionMatch: "Exact",
  }));
  const item = list.items[0];
  return item ? { apiVersion: list.apiVersion, kind: kind.kind, ...item } : null;
}
