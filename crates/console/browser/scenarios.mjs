// What people do with the console.
import assert from "node:assert/strict";

const MAPS = "/api/v1/namespaces/default/configmaps";
const AHAB = "/o/captains.crew.example.com/default/ahab";

const PAGES = {
  overview: ["/", "Overview"],
  objects: ["/o/captains.crew.example.com", "Captain"],
  pods: ["/o/pods?ns=default", "Pod"],
  timeline: [AHAB, "ahab"],
  yaml: [`${AHAB}?tab=yaml`, "ahab"],
  history: [`${AHAB}?tab=history`, "ahab"],
  tree: [`${AHAB}?tab=tree`, "ahab"],
  ownership: [`${AHAB}?tab=ownership`, "ahab"],
  edit: [`${AHAB}?tab=edit`, "ahab"],
  controllers: ["/c", "Controllers"],
  runs: ["/runs", "Runs"],
  requests: ["/requests", "Requests"],
  denials: ["/requests?tab=denied", "Requests"],
  metrics: ["/metrics", "Metrics"],
  controller: ["/c/mirror", "mirror"],
  perturbations: ["/perturb", "Perturbations"],
  lab: ["/lab", "Lab"],
  apply: ["/apply", "Apply"],
};

const settled = async (page) => {
  await page.waitForFunction(() => document.querySelector("main h1") && !document.querySelector("main [aria-busy=true]"));
};

const everyPage = Object.fromEntries(
  Object.entries(PAGES).flatMap(([name, [path, title]]) => ["light", "dark"].map((theme) => [
    `the page ${name} is accessible and logs no error (${theme})`,
    async ({ tab, accessible, picture }) => {
      const page = await tab(path, { dark: theme === "dark" });
      await page.getByRole("heading", { level: 1, name: title }).waitFor();
      await settled(page);
      await accessible(page, name);
      await picture(page, `${name}-${theme}`);
    },
  ])),
);

export const scenarios = {
  ...everyPage,

  "the token leaves the address": async ({ tab, token }) => {
    const page = await tab();
    assert.ok(!page.url().includes(token));
    assert.ok(!(await page.evaluate(() => document.documentElement.outerHTML)).includes(token));
    await page.reload();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  },

  "without a token nothing is shown": async ({ tab }) => {
    const page = await tab("/o/pods", { withToken: false });
    await page.getByRole("heading", { name: "This address needs its token" }).waitFor();
  },

  "with a wrong token nothing is shown": async ({ tab, base, expect }) => {
    expect("401");
    const page = await tab("/", { withToken: false });
    await page.goto(`${base}/#t=${"0".repeat(32)}`);
    await page.getByRole("heading", { name: "This address needs its token" }).waitFor();
  },

  "a foreign host is misdirected": async ({ tab, base, expect }) => {
    expect("421");
    const page = await tab("/", { withToken: false });
    const foreign = base.replace("127.0.0.1", "console.localhost");
    const response = await page.goto(foreign);
    assert.equal(response.status(), 421);
  },

  "a new object appears at once": async ({ tab, api }) => {
    const page = await tab("/o/configmaps?ns=default&q=quick");
    await page.getByText("No object matches the filter.").waitFor();
    const took = [];
    for (let n = 0; n < 5; n++) {
      const row = page.locator(`tr[data-key="default/quick-${n}"]`);
      const seen = row.waitFor().then(() => Date.now());
      const began = Date.now();
      await api("POST", MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `quick-${n}` } });
      took.push((await seen) - began);
    }
    console.log(`        rows appeared after ${took.join(", ")} ms`);
    assert.ok(Math.min(...took) <= 300, took.join());
    await api("DELETE", `${MAPS}/quick-0`);
    await page.locator('tr[data-key="default/quick-0"]').waitFor({ state: "detached" });
  },

  "an object page follows its object": async ({ tab, api }) => {
    await api("POST", MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "followed" }, data: { k: "one" } });
    const page = await tab("/o/configmaps/default/followed?tab=yaml");
    await page.getByText("k: one").waitFor();
    await api("PATCH", `${MAPS}/followed`, { data: { k: "two" } }, "application/merge-patch+json");
    await page.getByText("k: two").waitFor();
    await api("DELETE", `${MAPS}/followed`);
    await page.getByText("deleted", { exact: true }).waitFor();
  },

  "the history has a diff of each change": async ({ tab, api, picture }) => {
    await api("POST", MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "changed" }, data: { k: "one", same: "same" } });
    const page = await tab("/o/configmaps/default/changed?tab=history");
    await page.locator(".revisions li").first().waitFor();
    await api("PATCH", `${MAPS}/changed`, { data: { k: "two" } }, "application/merge-patch+json");
    await page.locator(".revisions li").nth(1).waitFor();
    await page.locator(".diff .removed", { hasText: "one" }).waitFor();
    assert.equal(await page.locator(".diff .added mark").first().innerText(), "two");
    await picture(page, "diff-light");
  },

  "a dry run shows what would change": async ({ tab, api, picture, expect }) => {
    expect("400");
    const page = await tab("/apply");
    const text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: applied\n  namespace: default\ndata:\n  a: b\n";
    await page.getByLabel("YAML or JSON to apply").fill(text);
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByText("would be created").waitFor();
    await picture(page, "dry-run-light");
    await assert.rejects(api("GET", `${MAPS}/applied`), /404/);
    await page.getByRole("button", { name: "Apply", exact: true }).click();
    await page.getByText("created", { exact: true }).waitFor();
    const applied = await api("GET", `${MAPS}/applied`);
    assert.equal(applied.metadata.managedFields[0].manager, "console");
    await page.getByLabel("YAML or JSON to apply").fill("a: [");
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByRole("alert").waitFor();
  },

  "an edit over the change of another is a conflict": async ({ tab, api, expect, picture }) => {
    expect("409");
    await api("POST", MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "edited" }, data: { mine: "1", theirs: "1" } });
    const page = await tab("/o/configmaps/default/edited?tab=edit");
    const field = page.getByLabel("The object as YAML");
    await field.fill((await field.inputValue()).replace('mine: "1"', 'mine: "2"'));
    await api("PATCH", `${MAPS}/edited`, { data: { theirs: "2" } }, "application/merge-patch+json");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Conflict: somebody else has changed the object").waitFor();
    await picture(page, "conflict-light");
    assert.equal((await api("GET", `${MAPS}/edited`)).data.mine, "1");
    await page.getByRole("button", { name: "Take theirs" }).click();
    await field.fill((await field.inputValue()).replace('mine: "1"', 'mine: "3"'));
    await page.getByRole("button", { name: "Save" }).click();
    await page.waitForURL(/edited$/);
    assert.deepEqual((await api("GET", `${MAPS}/edited`)).data, { mine: "3", theirs: "2" });
  },

  "a Secret is masked until it is revealed": async ({ tab }) => {
    const page = await tab("/o/secrets/default/chart?tab=yaml");
    await page.getByText('treasure: "(masked)"').waitFor();
    await page.getByRole("button", { name: "Reveal values" }).click();
    await page.getByText('treasure: "aXNsYQ=="').waitFor();
  },

  "everything can be done with the keyboard": async ({ tab }) => {
    const page = await tab();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    // While a dialog closes, keys are still its own.
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await page.keyboard.press(":");
    await page.getByLabel("Command").fill("cap -n default");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Captain" }).waitFor();
    await page.locator('tr[data-key="default/nemo"]').waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await page.locator('tr.cursor[data-key="default/ahab"]').waitFor();
    await page.keyboard.press("y");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "ahab");
    await page.keyboard.press("Y");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "kubectl get captains.crew.example.com ahab -n default");
    await page.keyboard.press("/");
    await page.keyboard.type("flint");
    await page.locator('tr[data-key="default/ahab"]').waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "flint" }).waitFor();
    await page.keyboard.press("4");
    await page.getByRole("tab", { name: "Tree", selected: true }).waitFor();
    await page.getByRole("tab", { name: "Tree" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.getByRole("tab", { name: "Ownership", selected: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: "Captain" }).waitFor();
  },

  "the address holds the state": async ({ tab }) => {
    const page = await tab("/o/configmaps?ns=default&q=app%3Dbook&sort=-0");
    await page.locator('tr[data-key="default/log-0299"]').waitFor();
    assert.equal(await page.locator('tr[data-key="default/log-0298"]').count(), 0);
    await page.locator("tbody tr[data-key] a").first().click();
    await page.getByRole("heading", { name: "log-0299" }).waitFor();
    await page.goBack();
    await page.locator('tr[data-key="default/log-0299"]').waitFor();
    assert.match(page.url(), /sort=-0/);
  },

  "a table scrolls through all of its rows": async ({ tab }) => {
    const page = await tab("/o/configmaps?ns=default&q=log-");
    await page.locator('tr[data-key="default/log-0000"]').waitFor();
    await page.locator(".scroll").evaluate((box) => box.scrollTo(0, box.scrollHeight));
    await page.locator('tr[data-key="default/log-0299"]').waitFor();
    assert.ok((await page.locator("tbody tr").count()) <= 203);
  },

  "an object can be deleted after a question": async ({ tab, api }) => {
    await api("POST", MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "doomed" } });
    const page = await tab("/o/configmaps/default/doomed");
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("Deleted doomed").waitFor();
    await assert.rejects(api("GET", `${MAPS}/doomed`), /404/);
  },

  "names and messages stay text": async ({ tab, api }) => {
    const evil = "<img src=x onerror=alert(1)><script>alert(2)</script>";
    await api("POST", MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "evil", annotations: { evil } }, data: { evil } });
    const page = await tab("/o/configmaps/default/evil?tab=yaml");
    await page.getByText("onerror=alert(1)").first().waitFor();
    assert.equal(await page.locator("main img, main script").count(), 0);
  },

  "the past is one parameter away": async ({ tab, api }) => {
    const before = await api("POST", MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "aged" }, data: { k: "then" } });
    await api("PATCH", `${MAPS}/aged`, { data: { k: "now" } }, "application/merge-patch+json");
    const at = before.metadata.resourceVersion;
    const page = await tab(`/o/configmaps/default/aged?tab=yaml&at=${at}`);
    await page.getByText("k: then").waitFor();
    await page.getByRole("button", { name: "Back to now" }).click();
    await page.getByText("k: now").waitFor();
    await page.goto(`${page.url().split("/o/")[0]}/o/configmaps?ns=default&q=aged&at=${Number(at) - 1}`);
    await page.getByText("No object matches the filter.").waitFor();
  },

  "the first load is fast": async ({ tab }) => {
    const page = await tab();
    await page.reload();
    await page.locator(".shell").waitFor();
    const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
    const bytes = await page.evaluate(() => performance.getEntriesByType("resource").filter((one) => one.name.includes("/app/")).reduce((sum, one) => sum + one.encodedBodySize, 0));
    console.log(`        first paint after ${Math.round(paint)} ms, ${bytes} bytes in files`);
    assert.ok(bytes <= 60 * 1024, `${bytes}`);
  },

  "a run says why it ran and what it wrote": async ({ tab, accessible, picture }) => {
    const page = await tab("/runs?controller=mirror");
    await page.locator("tbody tr", { hasText: "default/mirrored" }).first().locator("a").first().click();
    await page.getByRole("heading", { level: 1, name: "mirror default/mirrored" }).waitFor();
    await page.getByText("configmaps mirrored").first().waitFor();
    await page.getByText("secrets mirrored").first().waitFor();
    await accessible(page, "run");
    await picture(page, "run-light");
  },

  "metrics are plotted from the server's samples": async ({ tab }) => {
    const page = await tab("/metrics");
    await page.getByRole("img", { name: /^apiserver_request_total: .*GET now/ }).waitFor();
    await page.getByRole("img", { name: /^apiserver_request_duration_seconds: .*p99 now/ }).waitFor();
  },

  "a controller has rates and quantiles": async ({ tab, api, accessible, picture }) => {
    const page = await tab("/metrics?controller=mirror");
    await page.getByRole("heading", { level: 2, name: "Controller mirror" }).waitFor();
    for (let n = 0; n < 30; n++) {
      await api("POST", MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `mirrored-${n}` } });
      await page.waitForTimeout(100);
    }
    await page.getByRole("img", { name: /^Reconciles: .*success now/ }).waitFor();
    await page.getByRole("img", { name: /^Duration of reconciles: p50 now .*p99 now/ }).waitFor();
    await page.getByRole("img", { name: /^Time in the queue: p50 now/ }).waitFor();
    assert.equal(await page.getByRole("heading", { name: "Server" }).count(), 0);
    await accessible(page, "metrics-of-a-controller");
    await picture(page, "metrics-controller-light");
  },

  "a controller is paused, given a key and resumed": async ({ tab, api, accessible }) => {
    const page = await tab("/c/mirror");
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("paused: nothing is reconciled").waitFor();
    await accessible(page, "paused");
    await api("POST", MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "mirrored-later" } });
    await page.getByRole("textbox", { name: "Key" }).fill("default/nothing");
    await page.getByRole("button", { name: "Enqueue" }).click();
    await page.getByText("Enqueued default/nothing").waitFor();
    await page.locator("dl.facts div", { hasText: "Queued" }).getByText("2", { exact: true }).waitFor();
    await assert.rejects(api("GET", "/api/v1/namespaces/default/secrets/mirrored-later"), /404/);
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await page.locator("td", { hasText: "default/mirrored-later" }).first().waitFor();
    await api("GET", "/api/v1/namespaces/default/secrets/mirrored-later");
  },

  "a session that has ended is shown": async ({ tab, accessible, picture }) => {
    const page = await tab();
    const select = page.getByLabel("Session", { exact: true });
    await select.selectOption({ index: 1 });
    await page.getByText("This is a session that has ended: kubewright dev: crew").waitFor();
    await page.getByRole("link", { name: "Runs", exact: true }).click();
    await page.getByText("default/mirrored").first().waitFor();
    assert.match(page.url(), /\/runs\?session=/);
    await page.getByRole("link", { name: "captains", exact: false }).first().click();
    await page.locator('tr[data-key="default/ahab"] a').click();
    await page.getByRole("tab", { name: "History" }).click();
    await page.locator(".revisions li").nth(1).waitFor();
    assert.equal(await page.getByRole("button", { name: "Delete" }).count(), 0);
    await accessible(page, "session");
    await picture(page, "session-light");
    await page.getByRole("link", { name: "Back to the running one" }).click();
    await page.getByText("This is a session").waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Metrics", exact: true }).waitFor();
  },

  "the tree of the past is one parameter away": async ({ tab, api }) => {
    const root = await api("POST", MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "planted" } });
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "planted", uid: root.metadata.uid }];
    await api("POST", MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "grown", ownerReferences } });
    const page = await tab(`/o/configmaps/default/planted?tab=tree&at=${root.metadata.resourceVersion}`);
    await page.getByText("It owns no object.").waitFor();
    await page.getByRole("button", { name: "Back to now" }).click();
    await page.getByRole("link", { name: "grown" }).waitFor();
  },

  "a fault is injected, shown everywhere and removed": async ({ tab, picture }) => {
    const page = await tab("/lab");
    await page.getByRole("combobox", { name: "Fault" }).selectOption("gone");
    await page.getByRole("combobox", { name: "Verb" }).selectOption("list");
    await page.getByLabel("Client begins with").fill("nobody/");
    await page.getByRole("button", { name: "Inject" }).click();
    await page.getByText("client=nobody/ verb=list").waitFor();
    await page.getByText("Experiment: 1 fault is planned").waitFor();
    await picture(page, "lab-fault-light");
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText("No fault is planned.").waitFor();
    await page.getByText("Experiment:").waitFor({ state: "detached" });
  },

  "a fork is compared with its cluster": async ({ tab, api, browser, picture }) => {
    await api("POST", MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "forked" }, data: { k: "one" } });
    const page = await tab("/lab");
    await page.getByRole("button", { name: "Fork", exact: true }).click();
    const link = page.getByRole("link", { name: "Console of fork 1" });
    await link.waitFor();
    await api("PATCH", `${MAPS}/forked`, { data: { k: "two" } }, "application/merge-patch+json");
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByRole("link", { name: "configmaps default/forked" }).waitFor();
    await page.getByText('data.k: "two" → "one"').waitFor();
    await picture(page, "fork-light");
    const fork = await (await browser.newContext()).newPage();
    await fork.goto(await link.getAttribute("href"));
    await fork.getByRole("heading", { name: "Overview" }).waitFor();
    assert.equal(await fork.getByRole("link", { name: "Lab", exact: true }).count(), 0);
    await fork.context().close();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await link.waitFor({ state: "detached" });
  },

  "an exported file works without a server": async ({ exported, browser, accessible, picture }) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, offline: true });
    const page = await context.newPage();
    const logged = [];
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && logged.push(message.text()));
    page.on("pageerror", (error) => logged.push(String(error)));
    page.on("request", (request) => /^(file|data|blob):/.test(request.url()) || logged.push(`request: ${request.url()}`));
    await page.goto(`file://${exported}`);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByText("a recording").waitFor();
    await page.getByRole("link", { name: "captains", exact: false }).first().click();
    await page.locator('tr[data-key="default/ahab"] a').click();
    await page.getByRole("heading", { level: 1, name: "ahab" }).waitFor();
    await page.getByRole("tab", { name: "History" }).click();
    await page.locator(".revisions li").nth(1).waitFor();
    await page.locator(".diff .added").first().waitFor();
    await page.getByRole("tab", { name: "Tree" }).click();
    await page.getByRole("link", { name: "pequod-1-a" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Delete" }).count(), 0);
    await page.getByRole("link", { name: "Runs", exact: true }).click();
    await page.getByText("default/mirrored").first().waitFor();
    await accessible(page, "export");
    await picture(page, "export-light");
    await page.reload();
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    assert.deepEqual(logged, []);
    await context.close();
  },
};
