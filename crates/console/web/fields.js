// The owners of fields, from `metadata.managedFields`.

/** Finds the item of a list that a key of managed fields names. */
function itemOf(list, key) {
  if (!Array.isArray(list)) return -1;
  if (key.startsWith("i:")) return Number(key.slice(2));
  const wanted = JSON.parse(key.slice(2));
  if (key.startsWith("v:")) return list.findIndex((item) => JSON.stringify(item) === JSON.stringify(wanted));
  return list.findIndex((item) => item && Object.entries(wanted).every(([name, value]) => item[name] === value));
}

function walk(fields, value, path, owner, found) {
  for (const [key, below] of Object.entries(fields ?? {})) {
    if (key === ".") {
      add(found, path, owner);
      continue;
    }
    const step = key.startsWith("f:") ? key.slice(2) : itemOf(value, key);
    const inner = value?.[step];
    if (inner === undefined) continue;
    const own = [...path, step];
    if (Object.keys(below).length === 0) add(found, own, owner);
    else walk(below, inner, own, owner, found);
  }
}

function add(found, path, owner) {
  const key = JSON.stringify(path);
  const owners = found.get(key) ?? [];
  owners.push(owner);
  found.set(key, owners);
}

/** All managers of an object, in the order of their entries. */
export function managers(object) {
  return (object?.metadata?.managedFields ?? []).map((entry, n) => ({
    n, name: entry.manager ?? "unknown", operation: entry.operation, subresource: entry.subresource ?? "", time: entry.time,
    fields: entry.fieldsV1,
  }));
}

/** The owners of each field, by path as JSON. */
export function owners(object) {
  const found = new Map();
  for (const owner of managers(object)) {
    try {
      walk(owner.fields, object, [], owner, found);
    } catch {
      // An entry that another server wrote in its own way owns nothing that can be shown.
    }
  }
  return found;
}

/** The owners of a line: those of its field, or of the nearest field around it. */
export function ownersOf(found, path) {
  for (let length = path.length; length > 0; length--) {
    const own = found.get(JSON.stringify(path.slice(0, length)));
    if (own) return own;
  }
  return [];
}
