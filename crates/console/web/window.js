// The rows of a window, as the server describes their changes.

/** The state of a window before its first message. */
export function emptyWindow() {
  return { rows: new Map(), order: [], total: 0, offset: 0, revision: "", columns: [], synced: false, error: null };
}

/** Applies a message: it has the rows that are new or changed, and the order of all keys if that has changed. */
export function applyWindow(state, message) {
  const next = { ...state, revision: message.revision ?? state.revision };
  if (message.head) Object.assign(next, message.head);
  if (message.rows) {
    const rows = new Map(state.rows);
    for (const row of message.rows) rows.set(row.key, row);
    next.order = message.order ?? state.order;
    next.rows = new Map(next.order.map((key) => [key, rows.get(key)]));
    next.total = message.total;
    next.offset = message.offset;
  }
  return next;
}

/** What the server needs to know of the rows that are here already. */
export function have(state) {
  return [...state.rows.values()].map((row) => [row.key, row.version]);
}
