// Light or dark: as the system, unless one has chosen.
import { signal } from "./ui.js";

const KEY = "kubewright-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const ORDER = ["auto", "light", "dark"];

export const theme = signal(ORDER.includes(localStorage.getItem(KEY)) ? localStorage.getItem(KEY) : "auto");

export function applyTheme() {
  const dark = theme.value === "dark" || (theme.value === "auto" && system.matches);
  document.documentElement.classList.toggle("dark", dark);
}

export function nextTheme() {
  theme.value = ORDER[(ORDER.indexOf(theme.value) + 1) % ORDER.length];
  localStorage.setItem(KEY, theme.value);
  applyTheme();
}

system.addEventListener("change", applyTheme);
