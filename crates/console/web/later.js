// Pages that are loaded when they are opened first.
import { html, useEffect, useState } from "./ui.js";

/** Makes a component of one that `load` imports. */
export function later(load) {
  let found = null;
  return function Later(props) {
    const [, drawn] = useState(false);
    useEffect(() => {
      if (!found) load().then((component) => drawn((found = component) !== null));
    }, []);
    return found ? html`<${found} ...${props} />` : html`<p class="empty" aria-busy="true">Loading …</p>`;
  };
}
