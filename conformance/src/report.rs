//! `CONFORMANCE.md`: the comparisons, the differences and their reasons.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use crate::compare::Comparison;

/// The parts of kube-apiserver that are not there, and that no scenario asks for.
const LEFT_OUT: &str = "
## What is left out

- Authentication: OpenID Connect, webhooks, and the file of `--authentication-config`. `TokenAuthenticator` and `Authenticator` are
  the traits for authenticators of one's own.
- Client certificates of version 1 of X.509: the TLS handshake fails.
- Authorization: the modes `ABAC` and `Webhook`, and the file of `--authorization-config`. `Authorizer` is the trait for
  authorizers of one's own.
- Certificates: trust bundles and the certificates of pods are stored and nothing acts on them.
- Audit: the webhook backend, batching, rotation of log files, the `legacy` format, and annotations about latency. Everything else of an
  event is compared with recorded logs by the test `events_are_those_of_a_real_server`.
- Admission webhooks: redirects are not followed (kube-apiserver repeats the review at the new address), services are reached at their
  ready endpoints, credentials from a kubeconfig and static manifests are not read, and a service `kubernetes` is no way back into the
  server. Of several denials the first in order is answered. What a webhook changes about the options of a connect is not used.
- Flow control: queuing, seats, borrowing and the `/debug/api_priority_and_fairness` pages. Requests are matched and answers name their
  flow, but no flow is limited. The requests in flight are, as in kube-apiserver without priority and fairness. The flow
  schemas and priority levels of a new cluster are restored when they are deleted or changed.
- Deprecated versions are served without the audit annotation `k8s.io/removed-release`.
- Controllers: attaching of volumes, claims of devices (`resource.k8s.io`), load balancers and routes of clouds, storage version
  migration, and the hints of `service.kubernetes.io/topology-mode`. `trafficDistribution` gives hints.
- Scheduler: zone labels and limits of volumes, `ReadWriteOncePod`, storage capacity, claims of devices, groups of pods, extenders
  and profiles.
- Autoscalers read `metrics.k8s.io`, `custom.metrics.k8s.io` and `external.metrics.k8s.io`, but only the first is served by the
  cluster itself.
- Nodes: containers run functions, or scripts of a small shell; images have no programs. Limits of CPU and memory are not enforced,
  usage is scripted. Nodes have IPv4 addresses only, and neither device plugins, static pods, graceful shutdown nor checkpoints.
  Network policies are stored, and every pod reaches every other one. The size of a terminal is accepted, and commands do not see it.
";

/// Formats the report on all comparisons.
pub fn report(comparisons: &[Comparison], releases: &BTreeSet<String>) -> String {
    let mut out = String::new();
    let releases: Vec<&str> = releases.iter().map(String::as_str).collect();
    let release = releases.join(" and ");
    let (steps, different) = totals(comparisons.iter());
    let scenarios: usize = comparisons.iter().map(|c| c.scenarios).sum();
    _ = write!(
        out,
        "# Conformance

Written by `cargo xtask conformance --report`; not by hand. The scenarios in [`conformance/scenarios`](conformance/scenarios)
were asked of kube-apiserver {release}, and its answers are in [`conformance/golden`](conformance/golden). Here is how Kubewright
answers the same requests. Compared are the status code, the content type, the warnings, every field of the body, and
after each write what is stored, managed fields included. The area `definitions` installs the custom resource definitions in
[`conformance/definitions`](conformance/definitions), of public projects and our own, and compares their conditions, their
OpenAPI documents, and what becomes of objects made from their schemas, right and wrong.

{scenarios} scenarios with {steps} steps: {} equal, {different} different.

| area | scenarios | steps | equal | different |
|---|---|---|---|---|
",
        steps - different
    );
    let mut areas: BTreeMap<&str, Vec<&Comparison>> = BTreeMap::new();
    for comparison in comparisons {
        let area = comparison.file.split('/').next().unwrap_or_default();
        areas.entry(area).or_default().push(comparison);
    }
    for (area, comparisons) in &areas {
        let (steps, different) = totals(comparisons.iter().copied());
        let scenarios: usize = comparisons.iter().map(|c| c.scenarios).sum();
        _ = writeln!(
            out,
            "| {area} | {scenarios} | {steps} | {} | {different} |",
            steps - different
        );
    }
    out.push_str("\n## What is asked\n\n");
    for comparison in comparisons {
        _ = writeln!(out, "- `{}`: {}", comparison.file, comparison.about);
    }
    if comparisons.iter().any(|c| !c.pending.is_empty()) {
        out.push_str("\n## What is recorded and not compared yet\n\n");
        for comparison in comparisons {
            for (scenario, reason) in &comparison.pending {
                _ = writeln!(out, "- `{}`, {scenario}: {reason}", comparison.file);
            }
        }
    }
    if different > 0 {
        out.push_str("\n## What differs, and why\n");
        for comparison in comparisons {
            for difference in &comparison.differences {
                _ = write!(
                    out,
                    "\n- `{}`, {}, step {} (`{}`): {}\n",
                    comparison.file,
                    difference.scenario,
                    difference.step,
                    difference.title,
                    difference.reason.as_deref().unwrap_or("**unexplained**")
                );
            }
        }
    }
    out.push_str(LEFT_OUT);
    out
}

fn totals<'a>(comparisons: impl Iterator<Item = &'a Comparison>) -> (usize, usize) {
    comparisons.fold((0, 0), |(steps, different), c| {
        (steps + c.steps, different + c.differences.len())
    })
}
