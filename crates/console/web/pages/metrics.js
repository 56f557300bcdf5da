// Plots of what the server measures: the last hour, as the console has sampled it.
import { get } from "../api.js";
import { Answer, Empty } from "../parts.js";
import { usePoll } from "../stream.js";
import { html, useEffect, useRef, useSignal } from "../ui.js";

const METRICS = "/kubewright/v1/console/metrics";

/** The most points of a plot; of more, every second one is left out. */
const POINTS = 1200;

function thin(samples) {
  return samples.length > POINTS ? samples.filter((_, n) => (samples.length - n) % 2) : samples;
}

export function Metrics() {
  const state = usePoll(METRICS);
  const kept = useRef([]);
  const shown = useSignal([]);
  useEffect(() => {
    get(`${METRICS}/history`).then(
      ({ samples }) => (shown.value = kept.current = thin([...samples, ...kept.current.filter(({ at }) => !(at <= samples.at(-1)?.at))])),
      () => {},
    );
  }, []);
  useEffect(() => {
    if (!state.value || state.value.code >= 400) return;
    kept.current = thin([...kept.current, state.value.body]);
    shown.value = kept.current;
  }, [state.value]);
  return html`<div class="page"><h1>Metrics</h1><${Answer} of=${state}>${({ counters }) => html`<${Plots} samples=${shown.value} counters=${counters} />`}<//></div>`;
}

function rates(samples, name) {
  return samples.slice(1).map((sample, n) => ({ at: sample.at, value: Math.max(0, (sample.series[name] ?? 0) - (samples[n].series[name] ?? 0)) / Math.max(0.001, sample.at - samples[n].at) }));
}

function Plots({ samples, counters }) {
  if (samples.length < 2) return html`<${Empty}>Measuring …<//>`;
  const pointsOf = (name) => (counters.includes(name) ? rates(samples, name) : samples.map((sample) => ({ at: sample.at, value: sample.series[name] ?? 0 })));
  const all = Object.keys(samples.at(-1).series).sort().map((name) => ({ name, points: pointsOf(name) }));
  const isZero = ({ points }) => points.every(({ value }) => value === 0);
  const zero = all.filter(isZero).map(({ name }) => name);
  return html`<p class="muted">Since the console was opened first, at most an hour. Counters are shown as rates per second.</p>
    <div class="grid" tabindex="0" role="region" aria-label="Plots">${all.filter((one) => !isZero(one)).map(({ name, points }) => html`<${Plot} key=${name} title=${name} points=${points} />`)}</div>
    ${zero.length > 0 && html`<p class="muted">Zero all the time: ${zero.join(", ")}</p>`}`;
}

function Plot({ title, points }) {
  const most = Math.max(...points.map(({ value }) => value));
  const top = Math.max(most, 1e-9);
  const [from, to] = [points[0].at, points.at(-1).at];
  const x = (at) => (300 * (at - from)) / Math.max(1e-9, to - from);
  const path = points.map(({ at, value }, n) => `${n ? "L" : "M"}${x(at).toFixed(1)} ${(88 - (84 * value) / top).toFixed(1)}`).join("");
  const short = (value) => value.toLocaleString(undefined, { maximumSignificantDigits: 4 });
  return html`<section class="panel plot"><h2>${title}</h2><svg viewBox="0 0 300 90" preserveAspectRatio="none" role="img" aria-label=${`${title}: now ${short(points.at(-1).value)}, at most ${short(most)}`}><path d=${path} /></svg>
    <div class="muted">now ${short(points.at(-1).value)} · at most ${short(most)}</div></section>`;
}
