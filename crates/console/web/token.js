// The token of this console: it comes in the fragment of the address and is kept for this tab only.
const KEY = "kubewright-token";

/** Takes the token from the address, which then no longer shows it. */
export function takeToken() {
  const found = /^#t=([0-9a-f]{32})$/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(KEY, found[1]);
    history.replaceState(null, "", location.pathname + location.search);
  }
}

export function token() {
  return sessionStorage.getItem(KEY) ?? "";
}
