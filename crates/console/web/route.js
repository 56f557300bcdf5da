// The address is the state: the page, and everything that one has chosen on it.
import { isFile, recorded } from "./recorded.js";
import { computed, signal } from "./ui.js";

const here = signal(read());

/** In a file the fragment has the path and the parameters. */
function read() {
  if (isFile) {
    const [path, search = ""] = (location.hash.slice(1) || "/").split("?");
    return { path, query: Object.fromEntries(new URLSearchParams(search)) };
  }
  return { path: location.pathname, query: Object.fromEntries(new URLSearchParams(location.search)) };
}

/** The path, as decoded segments. */
export const segments = computed(() => here.value.path.split("/").filter(Boolean).map(decode));

/** The parameters. */
export const params = computed(() => here.value.query);

/** The revision that all pages show, or nothing while they are live. */
export const at = computed(() => (/^\d+$/.test(params.value.at ?? "") ? Number(params.value.at) : null));

function decode(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Makes an address. The session is kept, and so is the revision unless another is given. */
export function address(path, query = {}) {
  const { at, session } = params.peek();
  const all = { at, session, ...query };
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(all)) {
    if (value !== undefined && value !== null && value !== "") search.set(name, value);
  }
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

/** Goes to an address of the console. */
export function go(target, { replace = false } = {}) {
  if (!isFile) history[replace ? "replaceState" : "pushState"](null, "", target);
  else if (replace) location.replace(`#${target}`);
  else location.hash = target;
  here.value = read();
}

/** Changes parameters of this page. */
export function choose(changes, options) {
  const query = { ...params.peek(), ...changes };
  if (query.at === null) delete query.at;
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
  const text = search.toString();
  go(here.peek().path + (text ? `?${text}` : ""), { replace: true, ...options });
}

/** Follows links within the console without loading it again. */
export function followLinks() {
  addEventListener(isFile ? "hashchange" : "popstate", () => (here.value = read()));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !plain || link.target || link.origin !== location.origin || link.hasAttribute("download")) return;
    if (link.hash && link.pathname === location.pathname && link.search === location.search) return;
    // The pages of another session are loaded with its data.
    if (!isFile && (recorded?.session ?? null) !== new URLSearchParams(link.search).get("session")) return;
    event.preventDefault();
    go(isFile ? link.getAttribute("href") : link.pathname + link.search);
    document.querySelector("main")?.scrollTo(0, 0);
  });
}
