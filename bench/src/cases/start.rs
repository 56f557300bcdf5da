//! From nothing to the first answer: the program, and the cluster inside a test.

use std::{
    thread,
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kubewright_testing::TestCluster;

use super::{ask, median, megabytes, millis, on_one_thread};
use crate::{
    Settings,
    endpoint::Endpoint,
    proc,
    report::{Measure, Report, Whose},
    requests::Template,
    server::Server,
};

const READY: Measure = Measure::cost("start: `up` to ready", "ms")
    .target(150.0)
    .reference(2900.0);
const ANSWER: Measure = Measure::cost("start: `up` to first answer", "ms");
const IDLE: Measure = Measure::cost("start: memory at rest", "MB")
    .target(40.0)
    .reference(308.0);
const CLUSTER: Measure = Measure::cost("start: TestCluster to first object", "ms").target(20.0);
const COLD: Measure = Measure::cost("start: the same, first in the process", "ms").target(20.0);

pub(super) fn run(
    settings: &Settings,
    peer: Option<&Endpoint>,
    report: &mut Report,
) -> anyhow::Result<()> {
    const STARTS: usize = 7;
    const CLUSTERS: usize = 20;
    // First of all, as nothing in this process is warm yet.
    report.add(&COLD, Whose::Ours, millis(first_object()?));
    let clusters = (0..CLUSTERS).map(|_| first_object().map(millis));
    report.add(
        &CLUSTER,
        Whose::Ours,
        median(clusters.collect::<anyhow::Result<_>>()?),
    );

    let (mut ready, mut answered) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let server = Server::start(&settings.server)?;
        let since_ready = Instant::now();
        let request = Template::new(&server.endpoint, "GET", "/readyz", "");
        on_one_thread(ask(&server.endpoint, &request, 200))?;
        ready.push(millis(server.ready_after));
        answered.push(millis(server.ready_after + since_ready.elapsed()));
    }
    report.add(&READY, Whose::Ours, median(ready));
    report.add(&ANSWER, Whose::Ours, median(answered));

    let server = Server::start(&settings.server)?;
    thread::sleep(Duration::from_secs(1));
    report.add(&IDLE, Whose::Ours, megabytes(proc::resident(server.pid())?));
    if let Some(pid) = peer.and_then(|peer| peer.pid) {
        report.add(&IDLE, Whose::Peers, megabytes(proc::resident(pid)?));
    }
    Ok(())
}

/// A cluster as tests start it, until the server has said that an object is created.
fn first_object() -> anyhow::Result<Duration> {
    on_one_thread(async {
        let began = Instant::now();
        let cluster = TestCluster::start().await;
        let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
        let mut map = ConfigMap::default();
        map.metadata.name = Some("first".to_owned());
        maps.create(&PostParams::default(), &map).await?;
        Ok(began.elapsed())
    })
}
