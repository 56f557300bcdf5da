// Requests to the console's server, which passes them on to the cluster.
import { answerTo, recorded } from "./recorded.js";
import { token } from "./token.js";

/** A request that failed, with the `Status` of the server. */
export class Failure extends Error {
  constructor(code, status) {
    super(status?.message ?? `the server answered with ${code}`);
    this.code = code;
    this.reason = status?.reason ?? "";
    this.status = status;
  }
}

const encode = encodeURIComponent;

/** Sends a request and returns its JSON, with the warnings of the server. */
export async function send(method, path, { body, type = "application/json", headers = {}, signal } = {}) {
  const has = body !== undefined;
  if (recorded) {
    const value = method === "GET" ? answerTo(path) : null;
    if (!value) throw new Failure(404, { message: "This is a recording, which does not contain this." });
    return { value, warnings: [] };
  }
  let response;
  try {
    response = await fetch(path, {
      method,
      signal,
      cache: "no-store",
      credentials: "omit",
      headers: { authorization: `Bearer ${token()}`, ...(has ? { "content-type": type } : {}), ...headers },
      body: has ? JSON.stringify(body) : undefined,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Failure(0, { message: "the console does not answer: is its program still running?" });
  }
  const text = await response.text();
  let value = null;
  try {
    value = JSON.parse(text);
  } catch {
    value = { message: text.slice(0, 300) };
  }
  if (!response.ok) throw new Failure(response.status, value);
  const warnings = [...(response.headers.get("warning") ?? "").matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)];
  return { value, warnings: warnings.map((found) => found[1].replace(/\\(.)/g, "$1")) };
}

export async function get(path, options) {
  return (await send("GET", path, options)).value;
}

/** Makes a query of the values that are set. */
export function query(values) {
  const set = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return set.length ? "?" + set.map(([name, value]) => `${name}=${encode(value)}`).join("&") : "";
}

/** Makes the address of an endpoint of the ledger. */
export function ledger(endpoint, values = {}) {
  return `/kubewright/v1/${endpoint}${query(values)}`;
}
