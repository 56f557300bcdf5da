// Small parts of pages.
import { go } from "./route.js";
import { html, signal } from "./ui.js";
import { age } from "./time.js";

const SHAPES = { ok: "●", wait: "◐", bad: "■", none: "○", warning: "▲", error: "■" };

/** A state as a shape, a colour and a word. */
export function Dot({ level, word, quiet = false }) {
  return html`<span class=${`dot ${level ?? "none"}`} title=${quiet ? word : undefined}>
    <span aria-hidden="true">${SHAPES[level] ?? SHAPES.none}</span>${" "}<span class=${quiet ? "unseen" : ""}>${word}</span>
  </span>`;
}

export function Age({ of }) {
  return html`<time datetime=${of} title=${of}>${age(of)}</time>`;
}

/** A failure: what the server said. */
export function Problem({ error, code }) {
  const message = error?.message ?? String(error);
  const shown = code ?? error?.code;
  return html`<div class="problem" role="alert"><strong>${shown ? `${shown} ` : ""}${error?.reason ?? ""}</strong> ${message}</div>`;
}

/** The warnings of the server about a write. */
export function Warnings({ list }) {
  return list?.length ? html`<ul class="warnings">${list.map((text, n) => html`<li key=${n}>Warning: ${text}</li>`)}</ul>` : null;
}

export function Empty({ children }) {
  return html`<p class="empty">${children}</p>`;
}

/** Shows an answer that is followed: a wait, a failure, or the content. */
export function Answer({ of, empty, children }) {
  const answer = of.value;
  if (!answer) return html`<p class="empty" aria-busy="true">Loading …</p>`;
  if (answer.code >= 400) return html`<${Problem} code=${answer.code} error=${answer.body} />`;
  return children(answer.body);
}

/** Tabs as links, so that each is an address; arrow keys move between them. */
export function Tabs({ label, tabs, current, href }) {
  const onKeyDown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const n = tabs.findIndex(([id]) => id === current);
    const [id] = tabs[(n + step + tabs.length) % tabs.length];
    go(href(id), { replace: true });
    event.preventDefault();
    requestAnimationFrame(() => document.getElementById(`tab-${id}`)?.focus());
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} onKeyDown=${onKeyDown}>
    ${tabs.map(([id, title]) => html`<a key=${id} id=${`tab-${id}`} role="tab" href=${href(id)} aria-selected=${String(id === current)}
      aria-controls="panel" tabindex=${id === current ? 0 : -1}>${title}</a>`)}
  </div>`;
}

/** What was just done, for the eye and for screen readers. */
export const notice = signal("");
let fading = null;

export function say(text) {
  notice.value = text;
  clearTimeout(fading);
  fading = setTimeout(() => (notice.value = ""), 4_000);
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied ${what}`);
  } catch {
    say(`The browser does not allow copying: ${text}`);
  }
}
