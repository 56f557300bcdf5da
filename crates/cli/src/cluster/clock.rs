//! `--clock-rate`: a cluster whose time runs faster than that of the machine.

use std::{
    num::NonZeroU32,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::bail;
use clap::Args;
use kubewright_apiserver::TokioClock;
use kubewright_cluster::ClusterBuilder;
use tokio::sync::mpsc;

/// The interval at which time advances, in time of the machine.
const TICK: Duration = Duration::from_millis(1);

#[derive(Args, Clone, Copy)]
pub(crate) struct ClockRate {
    /// Factor by which the cluster's time is faster than the machine's: schedules, leases, backoffs and all timeouts. With a
    /// factor, the server runs on one thread
    #[arg(long, value_name = "FACTOR", default_value_t = NonZeroU32::MIN, value_parser = factor)]
    clock_rate: NonZeroU32,
}

fn factor(text: &str) -> anyhow::Result<NonZeroU32> {
    match text.parse::<NonZeroU32>() {
        Ok(factor) if factor.get() <= 100 => Ok(factor),
        _ => bail!("use a number from 1 to 100"),
    }
}

impl ClockRate {
    /// Sets the clock of a cluster.
    pub(crate) fn add_to(self, builder: ClusterBuilder) -> ClusterBuilder {
        match self.is_normal() {
            true => builder,
            false => builder.clock(Arc::new(TokioClock::new())),
        }
    }

    /// Returns whether time runs like that of the machine.
    pub(crate) fn is_normal(self) -> bool {
        self.clock_rate == NonZeroU32::MIN
    }

    /// Runs a command in a runtime with that time.
    pub(crate) fn run<T>(self, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()?;
        let rate = self.clock_rate.get();
        let done = runtime.block_on(async {
            let (send, mut ticks) = mpsc::channel(1);
            // While a blocking task runs, a paused clock does not jump to the next timer by itself.
            tokio::task::spawn_blocking(move || {
                let mut last = Instant::now();
                loop {
                    thread::sleep(TICK);
                    let now = Instant::now();
                    if send.blocking_send(now - last).is_err() {
                        return;
                    }
                    last = now;
                }
            });
            let passing = async {
                while let Some(passed) = ticks.recv().await {
                    tokio::time::advance(passed * rate).await;
                }
            };
            tokio::select! {
                done = work => done,
                () = passing => bail!("time has stopped"),
            }
        });
        // Ticks that are still being sent need not be waited for.
        runtime.shutdown_background();
        done
    }
}
