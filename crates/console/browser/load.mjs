// Many objects, and many changes for a while: tables stay windows, and the memory of the tab does not grow.
import assert from "node:assert/strict";

const OBJECTS = Number(process.env.OBJECTS);
const SECONDS = Number(process.env.SECONDS);
const MAPS = "/api/v1/namespaces/crowd/configmaps";

/** The used heap after a collection, in MB. */
async function heap(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize / 1e6;
}

/** Scrolls through a whole table, and returns the times between frames. */
function scroll(box, steps) {
  return new Promise((done) => {
    const frames = [];
    let step = 0;
    let last = performance.now();
    const next = (now) => {
      frames.push(now - last);
      last = now;
      box.scrollTop = (box.scrollHeight * ++step) / steps;
      if (step < steps) requestAnimationFrame(next);
      else done(frames.slice(1).sort((a, b) => a - b));
    };
    requestAnimationFrame(next);
  });
}

export const scenarios = {
  [`${OBJECTS.toLocaleString("en")} objects scroll, with a flat heap`]: async ({ tab }) => {
    const page = await tab("/o/configmaps?ns=crowd");
    await page.getByText(`${OBJECTS.toLocaleString("en-US")} objects`).waitFor({ timeout: 60_000 });
    const box = page.locator(".scroll");
    await box.evaluate(scroll, 60);
    const before = await heap(page);
    const frames = [];
    for (let n = 0; n < 3; n++) {
      await box.evaluate((box) => box.scrollTo(0, 0));
      frames.push(...(await box.evaluate(scroll, 300)));
    }
    await box.evaluate((box) => box.scrollTo(0, box.scrollHeight));
    await page.locator(`tr[data-key="crowd/one-${String(OBJECTS - 1).padStart(6, "0")}"]`).waitFor();
    const after = await heap(page);
    frames.sort((a, b) => a - b);
    const frame = (share) => frames[Math.floor(frames.length * share)].toFixed(1);
    console.log(`        frames: median ${frame(0.5)} ms, 95 of 100 within ${frame(0.95)} ms; heap ${before.toFixed(1)} MB, then ${after.toFixed(1)} MB`);
    assert.ok((await page.locator("tbody tr").count()) <= 203);
    assert.ok(after < before + 5, `${before} MB became ${after} MB`);
    assert.ok(after < 60, `${after} MB`);
  },

  [`changes for ${SECONDS} s do not grow the tab`]: async ({ tab, api }) => {
    const page = await tab("/o/configmaps?ns=crowd");
    await page.locator("tbody tr[data-key]").first().waitFor({ timeout: 60_000 });
    await api("POST", MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "storm-begin" }, data: { seconds: String(SECONDS) } });
    const sizes = [];
    const every = Math.max(1, SECONDS / 6);
    for (let second = 0; second < SECONDS; second += every) {
      await new Promise((done) => setTimeout(done, every * 1_000));
      sizes.push(await heap(page));
    }
    let end = null;
    while (!end) {
      end = await api("GET", `${MAPS}/storm-end`).catch(() => null);
      if (!end) await new Promise((done) => setTimeout(done, 200));
    }
    console.log(`        ${end.data.changes} changes in ${end.data.seconds} s; heap ${sizes.map((size) => size.toFixed(1)).join(", ")} MB`);
    assert.ok(sizes.at(-1) < sizes[0] + 5, `${sizes.join(", ")} MB`);
    assert.ok(sizes.at(-1) < 60, `${sizes.at(-1)} MB`);
    assert.equal(await page.getByText("not connected").count(), 0);
  },
};
