// The object as text to change. It is written on the condition that nobody has changed it meanwhile.
import { get, send } from "../api.js";
import { apiPath, objectPage, nameOf } from "../kinds.js";
import { Empty, Problem, say, Warnings } from "../parts.js";
import { at, go } from "../route.js";
import { html, useSignal } from "../ui.js";
import { readable, yamlText } from "../yaml.js";
import { Diff } from "./diffview.js";

/** Text to one object, parsed by the server. */
export async function parse(text) {
  return (await send("POST", "/kubewright/v1/console/parse", { body: { text } })).value.objects;
}

export function Edit({ kind, namespace, name, object }) {
  const base = useSignal(object);
  const text = useSignal(yamlText(readable(object)));
  const checked = useSignal(null);
  const path = apiPath(kind, namespace, name);
  if (at.value !== null) return html`<${Empty}>The past cannot be edited.<//>`;
  const moved = object.metadata.resourceVersion !== base.value.metadata.resourceVersion;
  const write = async (dry) => {
    checked.value = null;
    try {
      const [changed] = await parse(text.value);
      changed.metadata = { ...changed.metadata, resourceVersion: base.value.metadata.resourceVersion };
      const answer = await send("PUT", `${path}?fieldManager=console&fieldValidation=Strict${dry ? "&dryRun=All" : ""}`, { body: changed });
      if (dry) checked.value = { after: answer.value, warnings: answer.warnings };
      else {
        say(answer.warnings[0] ?? `Wrote ${name}`);
        go(objectPage(nameOf(kind), namespace, name));
      }
    } catch (error) {
      checked.value = error.code === 409 ? { conflict: await conflict(path, text.value) } : { error };
    }
  };
  /** Keeps the text and writes it over the version that is there now. */
  const rebase = (theirs) => {
    base.value = theirs;
    write(true);
  };
  const reset = (to) => {
    base.value = to;
    text.value = yamlText(readable(to));
    checked.value = null;
  };
  const { after, warnings, error, conflict: found } = checked.value ?? {};
  return html`${moved && !found && html`<div class="warnings" role="status">The object has changed since you began. <button onClick=${() => reset(object)}>Begin again from revision ${object.metadata.resourceVersion}</button></div>`}
    <textarea aria-label="The object as YAML" spellcheck=${false} value=${text.value} onInput=${(event) => (text.value = event.target.value)}></textarea>
    <div class="buttons"><button onClick=${() => reset(object)}>Reset</button><button onClick=${() => write(true)}>Show difference</button><button class="primary" onClick=${() => write(false)}>Save</button></div>
    ${error && html`<${Problem} error=${error} />`}
    <${Warnings} list=${warnings} />
    ${after && html`<section><h2>What would change</h2><${Diff} before=${base.value} after=${after} /></section>`}
    ${found && html`<section class="panel" role="alert"><h2>Conflict: somebody else has changed the object</h2>
      <p>Nothing was written. Your text began at revision ${base.value.metadata.resourceVersion}; the object is at ${found.theirs.metadata.resourceVersion}.</p>
      <div class="grid"><div><h2>Their change</h2><${Diff} before=${base.value} after=${found.theirs} label="Their change" /></div>
      <div><h2>Your change</h2>${found.mine && html`<${Diff} before=${base.value} after=${found.mine} label="Your change" />`}</div></div>
      <div class="buttons"><button onClick=${() => reset(found.theirs)}>Take theirs</button><button onClick=${() => rebase(found.theirs)}>Keep mine, and show the difference to theirs</button></div></section>`}`;
}

async function conflict(path, text) {
  const [theirs, mine] = await Promise.all([get(path), parse(text).then(([one]) => one, () => null)]);
  return { theirs, mine };
}
