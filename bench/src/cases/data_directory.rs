//! A data directory of many objects: what it costs on disk, and how long it takes to open.

use std::{env, fs, path::PathBuf, time::Duration};

use super::{Bench, Case, OURS};
use crate::{
    contest::{Contestant, Digests, Sample, hold},
    peer,
    results::Section,
    roles::{
        self,
        store::{Phase, Work},
    },
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "data-directory",
    title: "a data directory of 150,000 objects of 10 KB",
    what: "Creates objects in the durable store, without a server, from 128 writers at a time; every one is synced before it is \
           acknowledged. A third of them is created while a checkpoint of the others is written. Another process then opens the \
           directory, after the kernel has dropped its cache of files (as root; otherwise that row is missing). Bytes written \
           are those of /proc/self/io, over those of the objects, which LZ4 compresses to a third or so.",
    run,
};

/// A directory that is removed when dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::cost("open_cold", "opened, cold cache", "s").at_most(2.0),
        Row::cost("open_warm", "opened, warm cache", "s"),
        Row::rate("created", "created", "/s"),
        Row::cost("p99", "99 of 100 creates within", "ms"),
        Row::cost(
            "p99_checkpoint",
            "the same while a checkpoint is written",
            "ms",
        ),
        Row::cost("p99_times", "that over the former", "").at_most(3.0),
        Row::cost("checkpoint", "the checkpoint", "s"),
        Row::cost("written", "bytes written for one byte of an object", "").at_most(3.0),
        Row::cost("occupied", "bytes on disk for one byte of an object", ""),
    ];
    let objects: u64 = bench.size(150_000, 6_000);
    let limit = Duration::from_secs(bench.size(900, 60));
    let turn = move || {
        let name = format!("kubewright-bench-data-{}", std::process::id());
        let folder = Folder(env::temp_dir().join(name));
        let phase = |phase: Phase| -> anyhow::Result<Sample> {
            let work = serde_json::to_string(&Work {
                directory: folder.0.clone(),
                objects,
                phase,
            })?;
            peer::run(&mut roles::command("store", &work)?, limit)
        };
        let mut sample = phase(Phase::Fill)?;
        if drop_caches() {
            sample.figures.extend(phase(Phase::OpenCold)?.figures);
        }
        sample.figures.extend(phase(Phase::OpenWarm)?.figures);
        Ok(sample)
    };
    let contestant = Contestant::new(OURS, turn);
    hold(section, bench.rounds(3), &Digests::new(), vec![contestant]);
    Ok(())
}

/// Makes the kernel forget the contents of files. Returns whether it was allowed.
fn drop_caches() -> bool {
    let synced = std::process::Command::new("sync").status();
    synced.is_ok_and(|status| status.success())
        && fs::write("/proc/sys/vm/drop_caches", "1").is_ok()
}
