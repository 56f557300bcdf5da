//! A cluster that runs pods: controllers, scheduler and simulated nodes.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::{Bench, Case, OURS, ask, megabytes, millis, on_one_thread};
use crate::{
    contest::{Contestant, Digests, Sample, hold},
    endpoint::Endpoint,
    proc,
    requests::{Parts, Template},
    results::Section,
    rows::Row,
    server::Server,
};

pub(crate) const CASE: Case = Case {
    name: "workloads",
    title: "Deployments on simulated nodes",
    what: "`kubewright up` with all controllers, the scheduler and simulated nodes: 2 for the start, 100 for the pods, 1,000 at rest. A \
           Deployment with that many replicas is created, and its status is read every 5 ms until all pods are available; a new \
           image is rolled out to 1,000 pods with the default limits; a Deployment of 10,000 is deleted until no pod is left. \
           Every pod has its events. Memory of a pod is what the process grew by, divided by the pods; what their objects and \
           events take as JSON is beside it. No peer runs here: KWOK's own gate is 167 pods per second, and \
           kube-controller-manager is limited to 20 requests per second by default.",
    run,
};

/// The path of Deployments.
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

/// The interval between two looks at a status.
const LOOK: Duration = Duration::from_millis(5);

/// The time limit for anything to happen.
const PATIENCE: Duration = Duration::from_secs(300);

/// The time for which the cluster is observed at rest.
const REST: Duration = Duration::from_secs(10);

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    let sizes = Sizes {
        few: bench.size(100, 5),
        some: bench.size(1_000, 20),
        many: bench.size(10_000, 50),
        nodes: bench.size(100, 3),
        idle_nodes: bench.size(1_000, 5),
    };
    section.rows = vec![
        Row::cost("ready", "start with two nodes, until they are ready", "ms").at_most(150.0),
        Row::cost("few", "100 pods until all are available", "ms").at_most(100.0),
        Row::cost("some", "1,000 pods until all are available", "ms").at_most(700.0),
        Row::cost("many", "10,000 pods until all are available", "ms").at_most(7_000.0),
        Row::cost("cost_some", "processor time of one of 1,000 pods", "µs"),
        Row::cost("cost_many", "processor time of one of 10,000 pods", "µs"),
        Row::cost("rollout", "rollout of 1,000 pods", "ms").at_most(2_000.0),
        Row::cost("delete", "deletion of 10,000 pods", "ms").at_most(5_000.0),
        Row::cost("memory", "memory of a pod", "KB"),
        Row::cost("objects", "a pod and its events as JSON", "KB"),
        Row::cost("beyond", "memory of a pod beyond its objects", "KB").at_most(12.0),
        Row::cost(
            "idle",
            "at rest with 1,000 nodes and 10,000 pods, of one processor",
            "%",
        )
        .at_most(1.0),
    ];
    let program = bench.server.clone();
    let turn = move || {
        let two = Server::ours_with_nodes(&program, 2)?;
        let mut sample = Sample::default();
        note(&mut sample, "ready", millis(two.ready_after));
        drop(two);
        let server = Server::ours_with_nodes(&program, sizes.nodes)?;
        on_one_thread(sizes.work(&server.endpoint, &mut sample))?;
        drop(server);
        let server = Server::ours_with_nodes(&program, sizes.idle_nodes)?;
        on_one_thread(sizes.rest(&server.endpoint, &mut sample))?;
        Ok(sample)
    };
    let rounds = bench.rounds(3);
    hold(
        section,
        rounds,
        &Digests::new(),
        vec![Contestant::new(OURS, turn)],
    );
    Ok(())
}

/// The sizes of a run.
#[derive(Clone, Copy)]
struct Sizes {
    few: usize,
    some: usize,
    many: usize,
    nodes: usize,
    idle_nodes: usize,
}

impl Sizes {
    async fn work(self, endpoint: &Endpoint, sample: &mut Sample) -> anyhow::Result<()> {
        let (took, _) = rolled_out(endpoint, "few", self.few).await?;
        note(sample, "few", millis(took));
        let (took, cost) = rolled_out(endpoint, "some", self.some).await?;
        note(sample, "some", millis(took));
        note(sample, "cost_some", cost);

        let began = Instant::now();
        let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "nginx:2"}]}}}});
        patch(endpoint, "some", &image).await?;
        until(endpoint, "some", self.some).await?;
        note(sample, "rollout", millis(began.elapsed()));
        delete(endpoint, "some").await?;
        delete(endpoint, "few").await?;
        gone(endpoint).await?;

        let before = proc::resident(&endpoint.pids)?;
        let (took, cost) = rolled_out(endpoint, "many", self.many).await?;
        note(sample, "many", millis(took));
        note(sample, "cost_many", cost);
        let after = proc::resident(&endpoint.pids)?;
        let count = self.many as f64;
        let memory = megabytes(after.saturating_sub(before)) * 1e3 / count;
        let pods = get(endpoint, "/api/v1/pods").await?.len();
        let events = get(endpoint, "/api/v1/events").await?.len();
        let objects = (pods + events) as f64 / 1e3 / count;
        note(sample, "memory", memory);
        note(sample, "objects", objects);
        note(sample, "beyond", memory - objects);

        let began = Instant::now();
        delete(endpoint, "many").await?;
        gone(endpoint).await?;
        note(sample, "delete", millis(began.elapsed()));
        Ok(())
    }

    async fn rest(self, endpoint: &Endpoint, sample: &mut Sample) -> anyhow::Result<()> {
        rolled_out(endpoint, "many", self.many).await?;
        // The last events are still being written.
        tokio::time::sleep(Duration::from_secs(5)).await;
        let before = proc::processor_time(&endpoint.pids)?;
        tokio::time::sleep(REST).await;
        let used = proc::processor_time(&endpoint.pids)?.saturating_sub(before);
        note(
            sample,
            "idle",
            used.as_secs_f64() / REST.as_secs_f64() * 100.0,
        );
        Ok(())
    }
}

fn note(sample: &mut Sample, key: &str, figure: f64) {
    sample.figures.insert(key.to_owned(), figure);
}

/// Creates a Deployment. Returns the time until all of its pods are available, and the processor time of each in microseconds.
async fn rolled_out(
    endpoint: &Endpoint,
    name: &str,
    replicas: usize,
) -> anyhow::Result<(Duration, f64)> {
    let deployment = json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "nginx"}]},
            },
        },
    });
    let before = proc::processor_time(&endpoint.pids)?;
    let began = Instant::now();
    let create = Template::new(endpoint, "POST", DEPLOYMENTS, &deployment.to_string());
    ask(endpoint, &create, 201).await?;
    until(endpoint, name, replicas).await?;
    let took = began.elapsed();
    let used = proc::processor_time(&endpoint.pids)?.saturating_sub(before);
    Ok((took, used.as_secs_f64() * 1e6 / replicas as f64))
}

/// Waits until a Deployment has as many updated and available pods as it should.
async fn until(endpoint: &Endpoint, name: &str, replicas: usize) -> anyhow::Result<()> {
    let began = Instant::now();
    let path = format!("{DEPLOYMENTS}/{name}");
    loop {
        let deployment: Value = serde_json::from_str(&get(endpoint, &path).await?)?;
        let status = &deployment["status"];
        let count = |field: &str| status[field].as_u64().unwrap_or_default() as usize;
        let is_observed = status["observedGeneration"] == deployment["metadata"]["generation"];
        let all = ["replicas", "updatedReplicas", "availableReplicas"];
        if is_observed && all.iter().all(|field| count(field) == replicas) {
            return Ok(());
        }
        ensure!(
            began.elapsed() < PATIENCE,
            "{name} was not rolled out: {status}"
        );
        tokio::time::sleep(LOOK).await;
    }
}

/// Waits until there are no pods.
async fn gone(endpoint: &Endpoint) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        let list: Value = serde_json::from_str(&get(endpoint, "/api/v1/pods?limit=1").await?)?;
        let items = list["items"].as_array().context("the list has no items")?;
        if items.is_empty() {
            return Ok(());
        }
        ensure!(began.elapsed() < PATIENCE, "the pods were not deleted");
        tokio::time::sleep(LOOK).await;
    }
}

async fn get(endpoint: &Endpoint, path: &str) -> anyhow::Result<String> {
    ask(endpoint, &Template::new(endpoint, "GET", path, ""), 200).await
}

async fn delete(endpoint: &Endpoint, name: &str) -> anyhow::Result<()> {
    let path = format!("{DEPLOYMENTS}/{name}");
    ask(endpoint, &Template::new(endpoint, "DELETE", &path, ""), 200).await?;
    Ok(())
}

async fn patch(endpoint: &Endpoint, name: &str, patch: &Value) -> anyhow::Result<()> {
    let (path, body) = (format!("{DEPLOYMENTS}/{name}"), patch.to_string());
    let parts = Parts {
        content_type: "application/strategic-merge-patch+json",
        ..Parts::new("PATCH", &path, body.as_bytes())
    };
    ask(endpoint, &Template::of(endpoint, parts), 200).await?;
    Ok(())
}
