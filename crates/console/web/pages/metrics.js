// Plots of the metrics of controllers, the operator and the server: the last hour, as the console has sampled it.
import { get } from "../api.js";
import { Answer, Empty } from "../parts.js";
import { params } from "../route.js";
import { usePoll } from "../stream.js";
import { took } from "../time.js";
import { html, useEffect, useRef, useSignal } from "../ui.js";

const METRICS = "/kubewright/v1/console/metrics";

/** The most points of a plot; of more, every second one is left out. */
const POINTS = 1200;

/** The most lines of a plot; the others are only named. */
const LINES = 6;

const WIDTH = 300;
const HEIGHT = 90;

function thin(samples) {
  return samples.length > POINTS ? samples.filter((_, n) => (samples.length - n) % 2) : samples;
}

export function Metrics() {
  const state = usePoll(METRICS);
  const kept = useRef([]);
  const shown = useSignal([]);
  const add = (samples) => {
    const last = kept.current.at(-1)?.[0] ?? 0;
    shown.value = kept.current = thin([...kept.current, ...samples.filter(([at]) => at > last)]);
  };
  useEffect(() => {
    get(`${METRICS}/history`).then(({ samples }) => {
      const since = kept.current;
      kept.current = [];
      add(samples);
      add(since);
    }, () => {});
  }, []);
  useEffect(() => {
    if (state.value?.code === 200) add(state.value.body.samples);
  }, [state.value]);
  return html`<div class="page"><h1>Metrics</h1><${Answer} of=${state}>${({ lines }) => html`<${Sections} samples=${shown.value} lines=${lines} />`}<//></div>`;
}

/** The values of a line with their times; those that are absent are left out. */
function pointsOf(samples, number) {
  return samples.map((sample) => ({ at: sample[0], value: sample[1][number] })).filter(({ value }) => Number.isFinite(value));
}

/** The plots of a section by their title: `[title, unit, lines]`. */
function plotsOf(lines, samples) {
  const plots = new Map();
  lines.forEach(({ title, line, unit }, number) => {
    const plot = plots.get(title) ?? { title, unit, lines: [] };
    plot.lines.push({ line, points: pointsOf(samples, number) });
    plots.set(title, plot);
  });
  return [...plots.values()].sort((a, b) => a.title.localeCompare(b.title));
}

const TITLES = { operator: "Operator", server: "Server" };

function Sections({ samples, lines }) {
  if (samples.length < 2) return html`<${Empty}>Measuring …<//>`;
  const sections = new Map();
  lines.forEach((line, number) => {
    const id = line.name ? `Controller ${line.name}` : TITLES[line.section];
    const all = sections.get(id) ?? lines.map(() => null);
    all[number] = line;
    sections.set(id, all);
  });
  const names = [...sections.keys()].sort((a, b) => (a in { Operator: 1, Server: 1 }) - (b in { Operator: 1, Server: 1 }) || a.localeCompare(b));
  const only = params.value.controller;
  return html`<p class="muted">Since the console was opened first, at most an hour. Counters are rates per second; p50 and p99 are the quantiles of what was observed in each second.</p>
    <div tabindex="0" role="region" aria-label="Plots">${names.filter((name) => !only || name === `Controller ${only}`).map((name) => html`<${Section} key=${name} name=${name} lines=${sections.get(name)} samples=${samples} />`)}</div>`;
}

function Section({ name, lines, samples }) {
  const known = lines.map((line) => line ?? { title: "" });
  const all = plotsOf(known, samples).filter(({ title }) => title);
  const isZero = ({ lines }) => lines.every(({ points }) => points.every(({ value }) => value === 0));
  const zero = all.filter(isZero).map(({ title }) => title);
  return html`<section aria-label=${name}><h2>${name}</h2>
    <div class="grid">${all.filter((one) => !isZero(one)).map((plot) => html`<${Plot} key=${plot.title} plot=${plot} range=${[samples[0][0], samples.at(-1)[0]]} />`)}</div>
    ${zero.length > 0 && html`<p class="muted">Zero all the time, or never observed: ${zero.join(", ")}</p>`}</section>`;
}

/** A value with its unit. */
function words(value, unit) {
  if (unit === "seconds") return took(value);
  const short = value.toLocaleString(undefined, { maximumSignificantDigits: 4 });
  return unit === "perSecond" ? `${short}/s` : short;
}

function Plot({ plot, range: [from, to] }) {
  const { title, unit } = plot;
  const lines = plot.lines.filter(({ points }) => points.some(({ value }) => value !== 0));
  const most = Math.max(...lines.flatMap(({ points }) => points.map(({ value }) => value)));
  const top = Math.max(most, 1e-9);
  const x = (at) => (WIDTH * (at - from)) / Math.max(1e-9, to - from);
  const y = (value) => HEIGHT - 2 - ((HEIGHT - 6) * value) / top;
  // A point without a neighbour is a dot.
  const path = (points) => points.map(({ at, value }, n) => `${n ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("") + (points.length === 1 ? "h0.1" : "");
  const now = ({ line, points }) => `${line ? `${line} ` : ""}now ${words(points.at(-1).value, unit)}`;
  const drawn = lines.slice(0, LINES);
  return html`<section class="panel plot"><h3>${title}</h3>
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${`${title}: ${lines.map(now).join(", ")}, at most ${words(most, unit)}`}>
      ${drawn.map(({ line, points }, n) => html`<path key=${line} class=${`line${n}`} d=${path(points)} />`)}</svg>
    <div class="muted">${lines.map((one, n) => html`<span class="key" key=${one.line}>${lines.length > 1 && n < LINES && html`<svg width="18" height="8" aria-hidden="true"><path class=${`line${n}`} d="M1 4H17" /></svg>`}${now(one)}</span>${" "}`)}· at most ${words(most, unit)}</div></section>`;
}
