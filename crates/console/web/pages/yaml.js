// The object as YAML. The colour beside a line tells who owns its field.
import { get } from "../api.js";
import { apiPath } from "../kinds.js";
import { managers, owners, ownersOf } from "../fields.js";
import { pathText, readable, yamlLines, yamlText } from "../yaml.js";
import { Age, copy, Problem } from "../parts.js";
import { at } from "../route.js";
import { html, useMemo, useSignal } from "../ui.js";

/** The name of a manager's entry. */
export function managerText({ name, operation, subresource }) {
  return `${name} (${operation === "Apply" ? "applied" : "updated"}${subresource ? ` ${subresource}` : ""})`;
}

/** Highlights the key of a line; everything stays text. */
export function Yaml({ text }) {
  const found = /^(\s*(?:- )*)([^\s#"'][^:]*|"(?:[^"\\]|\\.)*")(:(?: .*)?)$/.exec(text);
  return found ? html`${found[1]}<span class="key">${found[2]}</span>${found[3]}` : text;
}

export function Legend({ all }) {
  return html`<ul class="legend" aria-label="Field managers">${all.map((owner) => html`<li key=${owner.n}><i class=${`b${owner.n % 8}`} aria-hidden="true"></i>${managerText(owner)} <span class="muted"><${Age} of=${owner.time} /></span></li>`)}</ul>`;
}

export function YamlTab({ kind, object, namespace, name }) {
  const revealed = useSignal(null);
  const failed = useSignal(null);
  const isSecret = kind.group === "" && kind.kind === "Secret";
  const shown = revealed.value?.metadata.resourceVersion === object.metadata.resourceVersion ? revealed.value : object;
  const reveal = () => get(apiPath(kind, namespace, name), { headers: { "kubewright-reveal": "true" } }).then((secret) => (revealed.value = secret), (error) => (failed.value = error));
  const [lines, found, all] = useMemo(() => [yamlLines(readable(shown)), owners(shown), managers(shown)], [shown]);
  return html`<div class="toolbar"><${Legend} all=${all} /><span class="grow"></span>
      ${isSecret && shown === object && at.value === null && html`<button onClick=${reveal}>Reveal values</button>`}
      <button onClick=${() => copy(yamlText(readable(shown)), "the YAML")}>Copy</button></div>
    ${failed.value && html`<${Problem} error=${failed.value} />`}
    <pre class="code" tabindex="0" role="region" aria-label="YAML of the object">${lines.map(({ text, path }, n) => {
      const own = ownersOf(found, path);
      return html`<div class="line" key=${n} title=${own.map((one) => `${pathText(path)}: ${managerText(one)}, ${one.time ?? ""}`).join("\n")}><i class=${`owner ${own.length ? `b${own[0].n % 8}` : ""}`} aria-hidden="true"></i><span><${Yaml} text=${text} /></span>${own.length > 0 && html`<span class="who">${own.map(managerText).join(", ")}</span>`}</div>`;
    })}</pre>`;
}
