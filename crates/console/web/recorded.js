// A recording: the data of a moment, in one file with the pages, or saved by the console as a session that has ended.
import { takeToken, token } from "./token.js";

const element = document.getElementById("recorded");

/** Whether the pages are a file. No server is behind it, and the fragment has the path and the parameters. */
export const isFile = Boolean(element);

/** The data, or nothing on the pages of a running cluster. */
export const recorded = isFile ? JSON.parse(element.textContent) : await saved(new URLSearchParams(location.search).get("session"));

/** Loads a saved session; one that cannot be loaded is empty. */
async function saved(name) {
  if (!name) return null;
  takeToken();
  if (!token()) return null;
  const response = await fetch(`/kubewright/v1/console/sessions/${encodeURIComponent(name)}`, {
    headers: { authorization: `Bearer ${token()}` }, cache: "no-store", credentials: "omit",
  }).catch(() => null);
  return response?.ok ? response.json() : { session: name, answers: {}, tables: {} };
}

/** Parameters that choose a part of an answer, which a recording has as a whole. */
const PARTS = ["limit", "at", "version", "after"];

/** The fields of items whose names differ from those of parameters. */
const FIELDS = { manager: (item) => item.fieldManager ?? item.manager, changed: (item) => !item.unchanged };

function split(path) {
  const [name, search = ""] = path.split("?");
  return [decodeURIComponent(name), [...new URLSearchParams(search)]];
}

function keyOf(name, pairs) {
  const kept = pairs.filter(([key, value]) => value !== "" && !PARTS.includes(key)).map((pair) => pair.join("=")).sort();
  return kept.length ? `${name}?${kept.join("&")}` : name;
}

/** Finds the answer to a request; nothing if it is not recorded. */
export function answerTo(path) {
  const [name, pairs] = split(path);
  const { answers } = recorded;
  const exact = answers[keyOf(name, pairs)];
  if (exact) return exact;
  const values = Object.fromEntries(pairs);
  if (name === "/kubewright/v1/object") {
    const history = answers[keyOf("/kubewright/v1/history", pairs)];
    const item = history?.items.findLast((one) => one.revision <= Number(values.at) && one.object);
    return item ? { revision: item.revision, object: item.object } : null;
  }
  if (name.endsWith("/events")) {
    const uid = /^involvedObject\.uid=(.*)$/.exec(values.fieldSelector ?? "")?.[1];
    const items = answers["/api/v1/events"]?.items ?? [];
    return { items: items.filter((event) => !uid || event.involvedObject?.uid === uid) };
  }
  const list = answers[name];
  if (!list?.items) return null;
  const wanted = pairs.filter(([key, value]) => value !== "" && !PARTS.includes(key));
  const items = list.items.filter((item) => wanted.every(([key, value]) => String(FIELDS[key]?.(item) ?? item[key] ?? "") === value));
  return { ...list, items };
}

/** The window of a recorded table. */
export function windowOf({ path }, { filter = "", sort, offset = 0, limit = 200 }) {
  const found = /^(\/.*)\/namespaces\/([^/]+)(\/[^/]+)$/.exec(path);
  const [collection, namespace] = found ? [found[1] + found[3], decodeURIComponent(found[2])] : [path, ""];
  const table = recorded.tables[collection];
  const empty = { rows: new Map(), order: [], total: 0, offset: 0, revision: "", columns: [], synced: true, error: null };
  if (!table) return empty;
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (row) => {
    const text = `${row.key} ${row.cells.join(" ")}`.toLowerCase();
    return words.every((word) => (word.startsWith("!") ? !text.includes(word.slice(1)) : text.includes(word)));
  };
  const rows = table.rows.filter((row) => (!namespace || row.namespace === namespace) && matches(row));
  if (sort) {
    const value = (row) => (sort.by === "created" ? row.created : row.cells[sort.by.column]);
    rows.sort((a, b) => (sort.descending ? -1 : 1) * String(value(a) ?? "").localeCompare(String(value(b) ?? ""), undefined, { numeric: true }));
  }
  const shown = rows.slice(offset, offset + limit);
  return { ...empty, rows: new Map(shown.map((row) => [row.key, row])), order: shown.map((row) => row.key), total: rows.length, offset, columns: table.columns };
}
