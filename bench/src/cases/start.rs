//! The time from nothing to the first response: of the program, and of the cluster inside a test.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use super::{
    Bench, Case, ask, megabytes, millis,
    servers::{self, Servers},
};
use crate::{
    contest::{Contestant, Digests, Sample, hold},
    proc,
    requests::Template,
    results::Section,
    roles,
    rows::Row,
    server::Server,
};

pub(crate) const CASE: Case = Case {
    name: "start",
    title: "from nothing to ready, and at rest",
    what: "Starts the server: from before the process is made until it is ready (ours says so, of kube-apiserver `/readyz` is \
           asked every 5 ms), and until `/readyz` has been answered over a new TLS connection. As the programs of envtest: ours \
           from `kubewright envtest`, with the flags of its peer and asked for `/readyz` in the same way. Memory at rest is resident \
           memory one second later, of all processes. TestCluster: `TestCluster::start()`, a client, one ConfigMap created, on \
           one thread of a new process: the first time, and the median of 20 further times; with RBAC, and with workloads and two \
           nodes until those are ready, the median of 20 times. \
           Ours has RBAC, and creates all roles and bindings of a new cluster, except where it allows everything.",
    run,
};

/// Ours with other settings, whose figures go into its column.
const OPEN: &str = "ours without roles";
const ENVTEST: &str = "ours as the programs of envtest";
const EMBEDDED: &str = "TestCluster";

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    let rounds = bench.rounds(5);
    let ready = Cell::new(Duration::ZERO);
    servers::contest(
        bench,
        section,
        (Servers::Fresh, rounds),
        async |server| {
            ready.set(server.ready_after);
            Ok(())
        },
        async |endpoint, ()| {
            let since_ready = Instant::now();
            ask(
                endpoint,
                &Template::new(endpoint, "GET", "/readyz", ""),
                200,
            )
            .await?;
            let answered = ready.get() + since_ready.elapsed();
            tokio::time::sleep(Duration::from_secs(1)).await;
            let figures = [
                ("ready", millis(ready.get())),
                ("answered", millis(answered)),
                ("idle", megabytes(proc::resident(&endpoint.pids)?)),
            ];
            let figures = figures.map(|(key, figure)| (key.to_owned(), figure));
            Ok(Sample {
                figures: figures.into(),
                // Measured from the start of the processes.
                cpu_seconds: proc::processor_time(&endpoint.pids)?.as_secs_f64(),
                ..Sample::default()
            })
        },
    );
    // The programs of the peer are those of envtest. Ours have a turn of their own.
    if let Some(peer) = section.outcomes.get_mut(1)
        && let Some(ready) = peer.figures.get("ready").cloned()
    {
        peer.figures.insert("envtest".to_owned(), ready);
    }
    section.rows = vec![
        Row::cost("ready", "to ready", "ms").at_most(15.0),
        Row::cost("open", "to ready, without roles", "ms").at_most(8.0),
        Row::cost("envtest", "to ready, as the programs of envtest", "ms").at_most(100.0),
        Row::cost("answered", "to the first answer", "ms"),
        Row::cost("idle", "memory at rest", "MB").at_most(16.0),
        Row::cost("cold", "TestCluster, first in a process", "ms").at_most(20.0),
        Row::cost("warm", "TestCluster, further ones", "ms").at_most(20.0),
        Row::cost("warm_rbac", "TestCluster with RBAC, further ones", "ms").at_most(22.0),
        Row::cost("rbac", "TestCluster, RBAC alone", "ms").at_most(2.0),
        Row::cost(
            "workloads",
            "TestCluster with all controllers and two nodes",
            "ms",
        )
        .at_most(50.0),
    ];
    let program = bench.server.clone();
    let open = Contestant::new(OPEN, move || {
        let server = Server::ours_with(&program, &["--authorization-mode", "AlwaysAllow"])?;
        let mut sample = Sample::default();
        let ready = millis(server.ready_after);
        sample.figures.insert("open".to_owned(), ready);
        Ok(sample)
    });
    alone(section, rounds, OPEN, open);
    let program = bench.server.clone();
    let envtest = Contestant::new(ENVTEST, move || {
        let server = Server::envtest(&program)?;
        let mut sample = Sample::default();
        let ready = millis(server.ready_after);
        sample.figures.insert("envtest".to_owned(), ready);
        Ok(sample)
    });
    alone(section, rounds, ENVTEST, envtest);
    let count = bench.size(20, 3);
    let limit = Duration::from_secs(60);
    let test_cluster =
        roles::contestant(EMBEDDED, "test-cluster", limit, || Ok(format!("{count}")));
    alone(section, rounds, EMBEDDED, test_cluster);
    Ok(())
}

/// Runs one of ours alone; the figures go into our column.
fn alone(section: &mut Section, rounds: usize, name: &str, alone: Contestant<'_>) {
    let mut own = Section::default();
    hold(&mut own, rounds, &Digests::new(), vec![alone]);
    let ours = section.outcomes.first_mut();
    if let Some((ours, own)) = ours.zip(own.outcomes.pop()) {
        ours.figures.extend(own.figures);
        if let Some(reason) = own.absent {
            section.notes.push(format!("{name}: {reason}"));
        }
    }
}
