// Ages and durations, as kubectl prints them.
import { signal } from "./ui.js";

/** The current second; whatever shows an age follows it. */
export const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), 1_000);

/** Formats the time since a moment: `42s`, `3m`, `2d`. */
export function age(text) {
  const then = Date.parse(text ?? "");
  return Number.isNaN(then) ? "" : span((now.value - then) / 1_000);
}

/** Formats a number of seconds in one or two units. */
export function span(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 120) return `${s}s`;
  const m = Math.floor(s / 60);
  if (m < 10) return s % 60 ? `${m}m${s % 60}s` : `${m}m`;
  if (m < 180) return `${m}m`;
  const h = Math.floor(m / 60);
  if (h < 8) return m % 60 ? `${h}h${m % 60}m` : `${h}h`;
  if (h < 48) return `${h}h`;
  return `${Math.floor(h / 24)}d`;
}

/** Formats a duration of a request or a run. */
export function took(seconds) {
  if (seconds === undefined || seconds === null) return "";
  if (seconds < 0.001) return `${(seconds * 1e6).toFixed(0)} µs`;
  if (seconds < 1) return `${(seconds * 1e3).toFixed(1)} ms`;
  return `${seconds.toFixed(2)} s`;
}

/** Formats a moment of today as a time, with milliseconds. */
export function clock(text) {
  const then = new Date(text ?? NaN);
  if (Number.isNaN(then.getTime())) return "";
  const two = (n, width = 2) => String(n).padStart(width, "0");
  return `${two(then.getHours())}:${two(then.getMinutes())}:${two(then.getSeconds())}.${two(then.getMilliseconds(), 3)}`;
}
