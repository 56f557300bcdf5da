//! ConfigMaps that are on disk when they are acknowledged.

use std::{
    cell::Cell,
    env, fs,
    io::{Seek, SeekFrom, Write},
    rc::Rc,
    time::{Duration, Instant},
};

use super::{
    Bench, Case, millis,
    servers::{self, Keeping, PEER, Servers, USUAL, VALUE_BYTES, WARM_UP},
};
use crate::{contest::Sample, load::Load, requests, results::Section, rows::Row};

pub(crate) const CASE: Case = Case {
    name: "create-durable",
    title: "ConfigMaps that survive a power cut, over 1 to 128 connections",
    what: "POSTs ConfigMaps with one value of 512 bytes over TLS, to ours with --data-dir and to kube-apiserver with an etcd that \
           syncs; each connection sends as soon as it is answered. The sync is that of 4 KB in a file of zeros on the same disk, \
           measured before each turn; --added-sync-latency makes those of ours longer. Afterwards the server must have as many objects as it said it created.",
    run,
};

/// The numbers of connections.
const CONNECTIONS: [usize; 3] = [32, 64, 128];

/// The number of syncs that are measured.
const SYNCS: usize = 50;

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![Row::cost("sync", "one sync, median", "ms")];
    let added = bench.added_sync_latency;
    if added.is_some() {
        let label = "added to every sync of ours";
        section.rows.push(Row::cost("added", label, "ms"));
    }
    for connections in CONNECTIONS {
        let label = format!("created over {connections} connections");
        let row = Row::rate(&format!("rate_{connections}"), &label, "/s");
        let row = match (connections, added) {
            (64, None) => row.at_least(8_000.0),
            (128, None) => row.at_least(10_000.0),
            _ => row,
        };
        section.rows.push(row.better(5.0, PEER));
        let label = format!("99 of 100 within, {connections} connections");
        let row = Row::cost(&format!("p99_{connections}"), &label, "ms");
        section.rows.push(row);
    }
    let single = Row::cost("single", "1 connection, median", "ms");
    section.rows.push(single);
    let label = "1 connection, median without the sync";
    let overhead = Row::cost("overhead", label, "ms").at_most(0.4);
    section.rows.push(overhead);
    let time = Duration::from_millis(bench.size(2000, 800));
    let rounds = (Servers::Kept, bench.rounds(7));
    servers::contest_of(
        Keeping::OnDisk,
        bench,
        section,
        rounds,
        async |_| Ok(()),
        async |endpoint, ()| {
            let mut sample = Sample::default();
            let sync = millis(sync()?) + added.unwrap_or_default();
            sample.figures.insert("sync".to_owned(), sync);
            if let Some(added) = added {
                sample.figures.insert("added".to_owned(), added);
            }
            let namespace = servers::namespace(endpoint).await?;
            let path = requests::config_maps(&namespace);
            let body = requests::config_map(VALUE_BYTES);
            let next = Rc::new(Cell::new(0));
            let load = |connections, time| {
                let next = next.clone();
                anyhow::Ok(Load {
                    endpoint,
                    connections,
                    request: USUAL.request(endpoint, "POST", &path, &body)?,
                    status: 201,
                    numbers: Rc::new(move || Some(next.replace(next.get() + 1))),
                    warm_up: WARM_UP,
                    time,
                })
            };
            for connections in CONNECTIONS {
                let many = load(connections, time)?.run().await?;
                let figures = [("rate", many.rate()), ("p99", millis(many.percentile(99)))];
                for (key, figure) in figures {
                    sample
                        .figures
                        .insert(format!("{key}_{connections}"), figure);
                }
            }
            let single = load(1, time / 2)?.run().await?;
            let half = millis(single.percentile(50));
            sample.figures.insert("single".to_owned(), half);
            sample.figures.insert("overhead".to_owned(), half - sync);
            servers::check_count(endpoint, &path, next.get()).await?;
            Ok(sample)
        },
    );
    Ok(())
}

/// Returns the median time of a sync of 4 KB on the disk of the servers.
fn sync() -> anyhow::Result<Duration> {
    let path = env::temp_dir().join(format!("kubewright-bench-sync-{}", std::process::id()));
    let mut file = fs::File::create(&path)?;
    file.write_all(&vec![0; SYNCS * 4096])?;
    file.sync_all()?;
    let mut times = Vec::with_capacity(SYNCS);
    for n in 0..SYNCS as u64 {
        file.seek(SeekFrom::Start(n * 4096))?;
        file.write_all(&[1; 4096])?;
        let began = Instant::now();
        file.sync_data()?;
        times.push(began.elapsed());
    }
    fs::remove_file(&path)?;
    times.sort_unstable();
    Ok(times.get(SYNCS / 2).copied().unwrap_or_default())
}
