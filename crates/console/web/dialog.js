// Dialogs: one at a time, above the page.
import { html, signal, useEffect, useRef } from "./ui.js";

const open = signal(null);

/** Shows a dialog; `view` gets a function that closes it. */
export function show(title, view) {
  open.value = { title, view };
}

export function close() {
  open.value = null;
}

export const isOpen = () => open.value !== null;

/** Asks a question; `confirm` runs if the answer is yes. With `typed`, that word must be typed first. */
export function ask(title, { text, action, typed, confirm }) {
  show(title, () => html`<${Question} ...${{ text, action, typed, confirm }} />`);
}

function Question({ text, action, typed, confirm }) {
  const word = useRef("");
  const failed = useRef(signal(""));
  const submit = async (event) => {
    event.preventDefault();
    if (typed && word.current !== typed) {
      failed.current.value = `Type ${typed} to confirm.`;
      return;
    }
    try {
      await confirm();
      close();
    } catch (error) {
      failed.current.value = error.message;
    }
  };
  return html`<form onSubmit=${submit}>
    <div>${text}</div>
    ${typed && html`<label class="line">Type <code>${typed}</code>
      <input autofocus autocomplete="off" onInput=${(event) => (word.current = event.target.value)} /></label>`}
    ${failed.current.value && html`<div class="problem" role="alert">${failed.current.value}</div>`}
    <div class="buttons"><button type="button" onClick=${close}>Cancel</button>
      <button class="danger" autofocus=${!typed}>${action}</button></div>
  </form>`;
}

export function Dialog() {
  const ref = useRef(null);
  const shown = open.value;
  useEffect(() => {
    const dialog = ref.current;
    if (!shown) return;
    dialog.showModal();
    dialog.querySelector("[autofocus]")?.focus();
    return () => dialog.close();
  }, [shown]);
  if (!shown) return null;
  return html`<dialog ref=${ref} aria-labelledby="dialog-title" onClose=${close}>
    <header><h2 id="dialog-title">${shown.title}</h2><button class="plain" aria-label="Close" onClick=${close}>✕</button></header>
    ${shown.view(close)}
  </dialog>`;
}
