//! Memory and processor time of processes, read from `/proc` on Linux. For several processes it is the sum.

use std::{fs, time::Duration};

use anyhow::Context;

/// Clock ticks per second in `/proc/<pid>/stat`: 100 on every Linux in use.
const TICKS_PER_SECOND: u64 = 100;

/// Returns the memory in use, in bytes.
pub fn resident(pids: &[u32]) -> anyhow::Result<u64> {
    status_bytes(pids, "VmRSS:")
}

/// Returns the peak memory since [`forget_peak`], in bytes.
pub fn peak(pids: &[u32]) -> anyhow::Result<u64> {
    status_bytes(pids, "VmHWM:")
}

/// Resets the peak to the memory in use.
pub fn forget_peak(pids: &[u32]) -> anyhow::Result<()> {
    for pid in pids {
        fs::write(format!("/proc/{pid}/clear_refs"), "5")
            .context("cannot reset the memory peak")?;
    }
    Ok(())
}

/// Returns the processor time of all threads in user and kernel mode, with a resolution of 10 ms.
pub fn processor_time(pids: &[u32]) -> anyhow::Result<Duration> {
    pids.iter().map(|pid| processor_time_of(*pid)).sum()
}

fn processor_time_of(pid: u32) -> anyhow::Result<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name is in parentheses and may contain anything; user and system time are the 12th and 13th fields after it.
    let (_, fields) = text
        .rsplit_once(')')
        .context("cannot read the processor time")?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let mut next = || fields.next().and_then(|f| f.parse::<u64>().ok());
    let ticks = next().zip(next()).map(|(user, system)| user + system);
    let ticks = ticks.context("cannot read the processor time")?;
    Ok(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

/// Returns the processor time of the calling thread, with a resolution of some microseconds.
pub fn thread_time() -> anyhow::Result<Duration> {
    // The kernel updates a thread's account at every tick and when the thread stops running, so it yields here.
    std::thread::sleep(Duration::from_micros(1));
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let first = text
        .split_ascii_whitespace()
        .next()
        .and_then(|f| f.parse().ok());
    first
        .map(Duration::from_nanos)
        .context("cannot read the thread's processor time")
}

fn status_bytes(pids: &[u32], field: &str) -> anyhow::Result<u64> {
    let of = |pid: &u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/status"))
            .with_context(|| format!("cannot look at process {pid}"))?;
        text.lines()
            .find_map(|line| line.strip_prefix(field))
            .and_then(|rest| rest.trim().strip_suffix("kB"))
            .and_then(|number| number.trim().parse::<u64>().ok())
            .map(|kib| kib * 1024)
            .with_context(|| format!("process {pid} has no {field}"))
    };
    pids.iter().map(of).sum()
}
