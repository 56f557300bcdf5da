//! Connections that each send the next request when the last one is answered, and the time of each response.

use std::{
    cell::Cell,
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use tokio::task::JoinSet;

use crate::{
    endpoint::Endpoint,
    proc,
    requests::Template,
    wire::{Answer, Connection},
};

/// Numbers for requests. `None` ends the load.
pub(crate) type Numbers = Rc<dyn Fn() -> Option<u64>>;

/// A load on a server.
pub(crate) struct Load<'a> {
    /// The server.
    pub(crate) endpoint: &'a Endpoint,
    /// The number of connections.
    pub(crate) connections: usize,
    /// The request.
    pub(crate) request: Template,
    /// The expected status of every response.
    pub(crate) status: u16,
    /// The numbers for the request.
    pub(crate) numbers: Numbers,
    /// The warm-up time, in which responses are not counted.
    pub(crate) warm_up: Duration,
    /// The time in which responses are counted, unless the numbers end earlier.
    pub(crate) time: Duration,
}

/// The result of a load.
pub(crate) struct Outcome {
    /// The time of each response, shortest first.
    times: Vec<Duration>,
    /// The time in which responses were counted.
    elapsed: Duration,
    /// The processor time of the server in that time.
    processor: Duration,
}

/// Returns 0, 1, 2, … below `end`.
pub(crate) fn counting(from: u64, end: u64) -> Numbers {
    let next = Cell::new(from);
    Rc::new(move || {
        let number = next.get();
        next.set(number + 1);
        (number < end).then_some(number)
    })
}

/// Returns numbers below `end` in random order, with about equal frequency.
pub(crate) fn scattered(end: u64) -> Numbers {
    let state = Cell::new(0x9e37_79b9_7f4a_7c15_u64);
    Rc::new(move || {
        let mut x = state.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        state.set(x);
        Some(x % end.max(1))
    })
}

/// Returns the same numbers, limited to `n`.
pub(crate) fn limited(numbers: Numbers, count: u64) -> Numbers {
    let left = Cell::new(count);
    Rc::new(move || {
        left.set(left.get().checked_sub(1)?);
        numbers()
    })
}

impl Load<'_> {
    /// Runs the load. Must be called within a `LocalSet`.
    pub(crate) async fn run(self) -> anyhow::Result<Outcome> {
        let mut connections = Vec::new();
        for _ in 0..self.connections {
            let connection = Connection::open_with(self.endpoint, self.request.protocol()).await;
            connections.push(connection.context("cannot connect to the server")?);
        }
        let begin = Instant::now() + self.warm_up;
        let end = begin + self.time;
        let mut tasks = JoinSet::new();
        for connection in connections {
            let one = One {
                connection,
                request: self.request.clone(),
                status: self.status,
                numbers: self.numbers.clone(),
            };
            tasks.spawn_local(one.run(begin, end));
        }
        tokio::time::sleep_until(begin.into()).await;
        let cpu_before = proc::processor_time(&self.endpoint.pids)?;
        let mut times = Vec::new();
        while let Some(task) = tasks.join_next().await {
            times.append(&mut task??);
        }
        let elapsed = begin.elapsed();
        let processor = proc::processor_time(&self.endpoint.pids)? - cpu_before;
        ensure!(!times.is_empty(), "no request was answered in time");
        times.sort_unstable();
        Ok(Outcome {
            times,
            elapsed,
            processor,
        })
    }
}

/// Runs one connection of a load.
struct One {
    connection: Connection,
    request: Template,
    status: u16,
    numbers: Numbers,
}

impl One {
    async fn run(mut self, begin: Instant, end: Instant) -> anyhow::Result<Vec<Duration>> {
        let mut times = Vec::new();
        let mut answer = Answer::new();
        let mut sent = Instant::now();
        while sent < end {
            let Some(number) = (self.numbers)() else {
                break;
            };
            let request = self.request.numbered(number);
            self.connection
                .exchange(request, &mut answer, |_| {})
                .await?;
            let now = Instant::now();
            if answer.status != self.status {
                bail!(
                    "request {number} was answered {}, not {}",
                    answer.status,
                    self.status
                );
            }
            if sent >= begin {
                times.push(now - sent);
            }
            sent = now;
        }
        Ok(times)
    }
}

impl Outcome {
    /// Returns the responses per second.
    pub(crate) fn rate(&self) -> f64 {
        self.times.len() as f64 / self.elapsed.as_secs_f64()
    }

    /// Returns the responses for each second of the server's processor time.
    pub(crate) fn rate_per_processor(&self) -> f64 {
        self.times.len() as f64 / self.processor.as_secs_f64()
    }

    /// Returns a percentile of the response times.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let last = self.times.len().saturating_sub(1);
        self.times
            .get(last * percent / 100)
            .copied()
            .unwrap_or_default()
    }

    /// Returns the processor time of the server for each response.
    pub(crate) fn processor(&self) -> Duration {
        self.processor / u32::try_from(self.times.len()).unwrap_or(u32::MAX).max(1)
    }
}
