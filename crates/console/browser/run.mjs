// Scenarios in a real browser. Prints one line for each, and fails if one fails, or if a page logs an error.
import { createRequire } from "node:module";
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";

const { scenarios } = await import(process.env.SCENARIOS ?? "./scenarios.mjs");
const require = createRequire(`${resolve(process.env.MODULES)}/`);
const { chromium } = require("playwright-core");
const axePath = require.resolve("axe-core/axe.min.js");
const url = process.env.CONSOLE_URL;
const shots = process.env.KUBEWRIGHT_SCREENSHOTS;
if (shots) mkdirSync(shots, { recursive: true });

const browser = await chromium.launch({ executablePath: process.env.BROWSER, args: ["--no-sandbox", "--disable-gpu"] });
const base = new URL(url).origin;
const token = url.split("#t=")[1];

/** Sends a request to the cluster beside the browser, as another client would. */
async function api(method, path, body, type = "application/json") {
  const response = await fetch(base + path, { method, headers: { authorization: `Bearer ${token}`, ...(body ? { "content-type": type } : {}) }, body: body && JSON.stringify(body) });
  const value = await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${value.message}`);
  return value;
}

/** Opens a tab that has the token, and collects what it logs. */
async function open(path = "/", { dark = false, withToken = true } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: dark ? "dark" : "light", permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  const logged = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && logged.push(message.text()));
  page.on("pageerror", (error) => logged.push(String(error)));
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`));
  });
  if (withToken) {
    await page.goto(`${base}/#t=${token}`);
    await page.locator(".shell").waitFor();
    if (path !== "/") await page.goto(base + path);
  } else {
    await page.goto(base + path);
  }
  return { page, logged, context };
}

/** Checks a page with axe-core, which is injected past the policy of the page. */
async function accessible(page, name) {
  const source = require("node:fs").readFileSync(axePath, "utf8");
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: source });
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  const told = violations.map((one) => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => node.html).join(" | ")}`);
  if (told.length) throw new Error(`${name} is not accessible:\n  ${told.join("\n  ")}`);
}

async function picture(page, name) {
  if (shots) await page.screenshot({ path: `${shots}/${name}.png` });
}

const only = process.env.ONLY;
let failed = 0;
for (const [name, run] of Object.entries(scenarios)) {
  if (only && !name.includes(only)) continue;
  const began = Date.now();
  const opened = [];
  const tab = async (...how) => {
    const one = await open(...how);
    opened.push(one);
    return one.page;
  };
  const expected = [];
  try {
    await run({ tab, api, accessible, picture, base, token, browser, exported: process.env.EXPORT, expect: (text) => expected.push(text) });
    const logged = opened.flatMap((one) => one.logged).filter((text) => !expected.some((known) => text.includes(known)));
    if (logged.length) throw new Error(`the page logged:\n  ${logged.join("\n  ")}`);
    console.log(`ok      ${name} (${Date.now() - began} ms)`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}: ${error.stack ?? error}`);
    if (shots) for (const [n, one] of opened.entries()) await one.page.screenshot({ path: `${shots}/failed-${n}-${name.replaceAll(" ", "-")}.png` }).catch(() => {});
  } finally {
    for (const one of opened) await one.context.close();
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
