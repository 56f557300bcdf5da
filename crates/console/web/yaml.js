// Objects as lines of YAML, each with the path of its field, for reading, diffs and owners.

const PLAIN = /^[A-Za-z_/][\w./@%+-]*(?: [\w./@%+()-]+)*$/;
const WORDS = /^(true|false|null|yes|no|on|off|y|n|~)$/i;
const TOP = ["apiVersion", "kind", "metadata", "spec", "data", "status"];

function scalar(value) {
  if (typeof value !== "string") return JSON.stringify(value);
  if (value === "") return '""';
  return PLAIN.test(value) && !WORDS.test(value) ? value : JSON.stringify(value);
}

function isEmpty(value) {
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
}

const isTree = (value) => value !== null && typeof value === "object" && !isEmpty(value);

function leaf(value) {
  if (value !== null && typeof value === "object") return Array.isArray(value) ? "[]" : "{}";
  return scalar(value);
}

function block(text, indent, lines, path) {
  for (const line of text.replace(/\n$/, "").split("\n")) lines.push({ text: line ? indent + line : "", path });
}

function keys(map, depth) {
  const all = Object.keys(map);
  if (depth > 0) return all.sort();
  return [...TOP.filter((key) => key in map), ...all.filter((key) => !TOP.includes(key)).sort()];
}

function write(value, indent, path, lines, first, depth) {
  const list = Array.isArray(value);
  const entries = list ? value.map((item, n) => [n, item]) : keys(value, depth).map((key) => [key, value[key]]);
  entries.forEach(([key, item], n) => {
    const own = [...path, key];
    const head = (n === 0 && first !== null ? first : indent) + (list ? "-" : `${scalar(String(key))}:`);
    if (isTree(item) && list) {
      write(item, `${indent}  `, own, lines, `${head} `, depth + 1);
    } else if (isTree(item)) {
      lines.push({ text: head, path: own });
      write(item, Array.isArray(item) ? indent : `${indent}  `, own, lines, null, depth + 1);
    } else if (typeof item === "string" && item.includes("\n") && !/[\t\r]| \n/.test(item) && !/^\s/.test(item)) {
      lines.push({ text: `${head} |${item.endsWith("\n") ? "" : "-"}`, path: own });
      block(item, `${indent}  `, lines, own);
    } else {
      lines.push({ text: `${head} ${leaf(item)}`, path: own });
    }
  });
}

/** Writes an object as lines of `{text, path}`. */
export function yamlLines(object) {
  const lines = [];
  if (isTree(object)) write(object, "", [], lines, null, 0);
  return lines;
}

/** The object without what the server writes for itself. */
export function readable(object) {
  const { managedFields: _, ...metadata } = object?.metadata ?? {};
  return object ? { ...object, metadata } : object;
}

export function yamlText(object) {
  return yamlLines(object).map((line) => line.text).join("\n") + "\n";
}

/** A path as people write it: `spec.containers[0].image`. */
export function pathText(path) {
  return path.map((key) => (typeof key === "number" ? `[${key}]` : /^[\w-]+$/.test(key) ? `.${key}` : `["${key}"]`)).join("").replace(/^\./, "");
}
