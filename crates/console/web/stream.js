// The one stream of this tab. Subscriptions are sent as a whole; after a break the stream resumes with the rows that are here.
import { Failure, send } from "./api.js";
import { signal, useEffect, useRef, useSignal } from "./ui.js";
import { applyWindow, emptyWindow, have } from "./window.js";
import { answerTo, recorded, windowOf } from "./recorded.js";
import { token } from "./token.js";

/** `connecting`, `live`, `paused` in a hidden tab, `lost`, `refused` without a valid token, or `recorded`. */
export const connection = signal(recorded ? "recorded" : "connecting");

const wanted = new Map();
let tab = "";
let posting = false;
let changed = false;
let numbers = 0;
let abort = null;

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** A hidden tab is paused after this many milliseconds. */
const HIDDEN_AFTER = 5_000;

/** Sends what this tab wants, one request after the other, so that the last one wins. */
async function post() {
  changed = true;
  if (posting) return;
  posting = true;
  while (changed && tab) {
    await sleep(10);
    changed = false;
    const to = tab;
    const all = [...wanted.values()];
    const subscriptions = all.map(({ id, spec, state, sentTo }) => ({
      id, ...spec, ...(spec.type === "table" && sentTo !== to ? { have: have(state) } : {}),
    }));
    try {
      await send("POST", `/kubewright/v1/stream/${to}`, { body: { subscriptions } });
      for (const one of all) one.sentTo = to;
    } catch (error) {
      for (const one of all) if (error.code === 400) one.failed(error);
    }
  }
  posting = false;
}

async function listen() {
  abort = new AbortController();
  const response = await fetch("/kubewright/v1/stream", {
    headers: { authorization: `Bearer ${token()}` }, signal: abort.signal, cache: "no-store", credentials: "omit",
  });
  if (!response.ok) throw new Failure(response.status, await response.json().catch(() => null));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) take(JSON.parse(line));
  }
}

function take(message) {
  if (message.type === "hello") {
    tab = message.tab;
    connection.value = "live";
    post();
  } else {
    wanted.get(message.id)?.take(message);
  }
}

/** Keeps the stream open while the tab is visible. */
export async function keepStream() {
  if (recorded) return;
  let hidden = null;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hidden);
    if (document.hidden) hidden = setTimeout(() => abort?.abort(), HIDDEN_AFTER);
  });
  for (let failures = 0; ; ) {
    while (document.hidden) {
      connection.value = "paused";
      await sleep(100);
    }
    connection.value = failures ? "lost" : "connecting";
    try {
      await listen();
      failures = 0;
    } catch (error) {
      if (error.code === 401 || error.code === 421) {
        connection.value = "refused";
        return;
      }
      failures += error.name === "AbortError" ? 0 : 1;
    }
    tab = "";
    await sleep(Math.min(250 * 2 ** failures, 5_000));
  }
}

function subscribe(spec, entry) {
  const id = `s${++numbers}`;
  wanted.set(id, Object.assign(entry, { id, spec }));
  post();
  return {
    change(next) {
      entry.spec = next;
      post();
    },
    close() {
      wanted.delete(id);
      post();
    },
  };
}

/** Follows an answer: a signal of `{code, body}`, or `null` until there is one. Without a path nothing is asked. */
export function usePoll(path) {
  const state = useSignal(null);
  useEffect(() => {
    state.value = null;
    if (!path) return;
    if (recorded) {
      const body = answerTo(path);
      state.value = body ? { code: 200, body } : { code: 404, body: { message: "The recording does not contain this." } };
      return;
    }
    const entry = {
      take: ({ code, body }) => (state.value = { code, body }),
      failed: (error) => (state.value = { code: error.code, body: error.status }),
    };
    return subscribe({ type: "poll", path }, entry).close;
  }, [path]);
  return state;
}

/** Follows a window of rows. `source` chooses the objects, `view` the rows of them that are shown. */
export function useWindow(source, view) {
  const state = useSignal(emptyWindow());
  const open = useRef(null);
  const key = JSON.stringify(source);
  const shown = JSON.stringify(view);
  useEffect(() => {
    if (recorded) return;
    state.value = emptyWindow();
    const entry = {
      get state() {
        return state.peek();
      },
      take: (message) => (state.value = applyWindow(state.peek(), message)),
      failed: (error) => (state.value = { ...state.peek(), error: { code: error.code, message: error.message } }),
    };
    open.current = subscribe({ type: "table", ...source, ...view }, entry);
    return () => open.current.close();
  }, [key]);
  useEffect(() => {
    if (recorded) state.value = windowOf(source, view);
    else open.current.change({ type: "table", ...source, ...view });
  }, [shown, recorded && key]);
  return state;
}
