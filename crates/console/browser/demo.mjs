// The story of `kubewright demo`, watched from beginning to end.
import assert from "node:assert/strict";

const PATIENCE = { timeout: 120_000 };

export const scenarios = {
  "the demo is watched from beginning to end": async ({ tab, picture }) => {
    const timeline = await tab("/o/ingresses.networking.k8s.io/default/web");
    const requests = await tab("/requests?tab=denied");
    const runs = await tab("/runs?controller=ingress-manager");
    const happened = (text) => timeline.locator(".timeline .what", { hasText: text }).first().waitFor(PATIENCE);

    // The annotation of the Service creates an Ingress, its port is changed, and an edit by hand is undone.
    await happened("created");
    await happened("-> 8080");
    await timeline.locator(".timeline .what", { hasText: "elsewhere.example.com" }).first().waitFor(PATIENCE);
    await picture(timeline, "demo-timeline-light");
    await happened("deleted");
    assert.ok((await timeline.locator(".timeline .what a", { hasText: "run" }).count()) > 0, "changes name their run");

    // A run of the controller was triggered by the Service.
    await runs.locator("tbody tr", { hasText: "default/web" }).first().waitFor(PATIENCE);
    await runs.locator("tbody tr a", { hasText: "services web" }).first().waitFor(PATIENCE);

    // The quota of the last step is refused, retried and removed.
    await requests.getByText("exceeded quota: no-ingresses").first().waitFor(PATIENCE);
    await picture(requests, "demo-refused-light");
    const overview = await tab("/");
    await overview.getByRole("link", { name: "ingress-manager", exact: true }).first().waitFor(PATIENCE);
    await runs.locator("tbody tr", { hasText: "default/api" }).first().waitFor(PATIENCE);
    await picture(runs, "demo-runs-light");
    await picture(overview, "demo-overview-light");
  },
};
