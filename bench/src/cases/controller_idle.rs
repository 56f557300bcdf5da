//! The resources of an idle manager with a large cache.

use std::time::Duration;

use kubewright_bench_operator::{Mode, Work};

use super::{
    Bench, Case, controllers,
    servers::{self, VALUE_BYTES},
};
use crate::{contest::Digests, results::Section, rows::Row};

pub(crate) const CASE: Case = Case {
    name: "controller-idle",
    title: "an idle manager with 50,000 objects",
    what: "A manager with one controller for ConfigMaps, of which there are 50,000 with one value of 512 bytes, with leader election, \
           metrics and health. When all have been reconciled and a second has passed, its processor time is watched for 30 s, in \
           which nothing happens but that the Lease is renewed and the server says how far its watch has come.",
    run,
};

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::cost("idle_percent", "of one processor", "%").at_most(0.5),
        Row::cost("resident_megabytes", "memory", "MB"),
    ];
    idle(
        bench,
        section,
        bench.size(50_000, 500),
        bench.size(30_000, 3000),
    );
    Ok(())
}

/// Observes idle managers for a number of milliseconds.
pub(super) fn idle(bench: &Bench, section: &mut Section, objects: u64, idle_millis: u64) {
    let rounds = (bench.rounds(2), Duration::from_secs(180));
    controllers::contest(
        bench,
        section,
        rounds,
        &Digests::new(),
        |server, program| {
            let endpoint = &server.endpoint;
            let namespace = servers::in_time(async {
                let namespace = servers::namespace(endpoint).await?;
                servers::fill(endpoint, &namespace, objects, VALUE_BYTES).await?;
                Ok(namespace)
            })?;
            program(Work {
                mode: Mode::Idle,
                namespace,
                objects,
                idle_millis,
                ..Work::default()
            })?
            .run()
        },
    );
}
