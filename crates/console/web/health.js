// The state of an object in one word, from what most kinds say about themselves.

const GOOD = new Set(["true", "running", "ready", "active", "bound", "succeeded", "complete", "completed", "available", "established"]);
const BAD = new Set(["false", "failed", "error", "crashloopbackoff", "imagepullbackoff", "errimagepull", "evicted", "lost", "notready"]);
const WAITING = new Set(["pending", "unknown", "terminating", "containercreating", "progressing", "creating", "waiting"]);

function ofWord(text) {
  const word = String(text).toLowerCase();
  if (GOOD.has(word)) return "ok";
  if (BAD.has(word)) return "bad";
  if (WAITING.has(word)) return "wait";
  const parts = /^(\d+)\/(\d+)$/.exec(word);
  if (parts) return parts[1] === parts[2] ? "ok" : "wait";
  return null;
}

/** The columns that tell the state of an object. */
export function healthColumns(columns) {
  const wanted = ["ready", "status", "phase", "available", "state", "condition"];
  return wanted.map((name) => columns.findIndex((column) => column.name.toLowerCase() === name)).filter((n) => n >= 0);
}

/** The state of a row: its worst column decides. */
export function rowHealth(row, columns) {
  if (row.deleting) return { level: "wait", word: "being deleted" };
  const found = columns.map((n) => ({ level: ofWord(row.cells[n]), word: String(row.cells[n]) })).filter(({ level }) => level);
  return found.find(({ level }) => level === "bad") ?? found.find(({ level }) => level === "wait") ?? found[0] ?? null;
}

/** The state of an object from its conditions, or its phase. */
export function objectHealth({ conditions, phase, deleting }) {
  if (deleting) return { level: "wait", word: "being deleted" };
  const all = Array.isArray(conditions) ? conditions : [];
  const main = ["Ready", "Available", "Complete", "Established"].map((type) => all.find((one) => one.type === type)).find(Boolean);
  if (main) {
    const level = main.status === "True" ? "ok" : main.status === "False" ? "bad" : "wait";
    return { level, word: `${main.type}=${main.status}` };
  }
  if (typeof phase === "string") return { level: ofWord(phase) ?? "wait", word: phase };
  return null;
}
