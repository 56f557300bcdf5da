//! Our managers: the same work as `bench/peers/go/controller`, from the same argument.
//!
//! | module | purpose |
//! |---|---|
//! | `reconcile` | many reconciles that do nothing, read their object, or write its status |
//! | `latency` | reconciles objects that are changed by another program, and records the delays |
//! | `leader` | hands over leadership |
//! | `webhooks` | serves a defaulter and a validator of pods |

mod latency;
mod leader;
mod reconcile;
mod webhooks;

use std::time::Duration;

use anyhow::bail;
use kubewright_bench_operator::{Mode, proc, run};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    run(async |work| match work.mode {
        Mode::Reconcile => reconcile::measure(&work).await,
        Mode::Latency => latency::measure(&work).await,
        Mode::Leader => leader::measure(&work).await,
        Mode::Webhooks => webhooks::measure(&work).await,
        Mode::Idle => bail!("kubewright-bench-hello is idle"),
    })
}

/// Returns the processor time of this process.
fn processor_time() -> anyhow::Result<Duration> {
    proc::processor_time(&[std::process::id()])
}
