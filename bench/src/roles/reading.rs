//! Reads the bytes that an informer reads and discards them, which is the cost of receiving them.

use std::{io::Read, net::TcpStream};

use anyhow::ensure;
use serde::{Deserialize, Serialize};

use super::{ask, go};
use crate::{contest::Sample, proc};

/// A stream of bytes.
#[derive(Serialize, Deserialize)]
pub(crate) struct Work {
    pub(crate) url: String,
    pub(crate) events: u64,
}

pub(super) fn run(work: &str) -> anyhow::Result<Sample> {
    let work: Work = serde_json::from_str(work)?;
    let me = [std::process::id()];
    let mut sample = Sample::default();
    let mut note = |key: &str, figure: f64| sample.figures.insert(key.to_owned(), figure);

    let before = proc::processor_time(&me)?;
    let mut list = ask(&work.url, "/api/v1/pods")?;
    read(&mut list, |last| last.ends_with(b"\r\n0\r\n\r\n"))?;
    let used = (proc::processor_time(&me)? - before).as_secs_f64();
    note("sync_cpu_seconds", used);

    if work.events > 0 {
        let mut watch = ask(&work.url, "/api/v1/pods?watch=true")?;
        let before = proc::processor_time(&me)?;
        go(&work.url)?;
        // The bookmark after the last change.
        read(&mut watch, |last| {
            last.ends_with(b"\n\r\n") && contains(last, b"BOOKMARK")
        })?;
        let used = (proc::processor_time(&me)? - before).as_secs_f64();
        note("events_per_cpu_second", work.events as f64 / used.max(0.01));
    }
    Ok(sample)
}

/// Reads until the last bytes look like the end.
fn read(connection: &mut TcpStream, is_end: impl Fn(&[u8]) -> bool) -> anyhow::Result<()> {
    const TAIL: usize = 512;
    let mut buffer = vec![0; 256 << 10];
    let mut kept = 0;
    loop {
        let read = connection.read(&mut buffer[kept..])?;
        ensure!(read > 0, "the replay server hung up");
        let end = kept + read;
        let tail = end.saturating_sub(TAIL);
        if is_end(&buffer[tail..end]) {
            return Ok(());
        }
        buffer.copy_within(tail..end, 0);
        kept = end - tail;
    }
}

fn contains(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}
