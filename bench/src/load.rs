//! Connections that send one request after another, as soon as the last one is answered, and the time each took.

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
    /// On what.
    pub(crate) endpoint: &'a Endpoint,
    /// The number of connections.
    pub(crate) connections: usize,
    /// The request that they send.
    pub(crate) request: Template,
    /// The status that every answer must have.
    pub(crate) status: u16,
    /// The numbers they send it with.
    pub(crate) numbers: Numbers,
    /// The time during which responses are not counted.
    pub(crate) warm_up: Duration,
    /// The time during which responses are counted, unless the numbers end earlier.
    pub(crate) time: Duration,
}

/// The result of a load.
pub(crate) struct Outcome {
    /// The time of each answer, shortest first.
    times: Vec<Duration>,
    /// The time during which responses were counted.
    elapsed: Duration,
    /// Processor time of the server meanwhile.
    processor: Duration,
}

/// 0, 1, 2, …; ends before `end`.
pub(crate) fn counting(from: u64, end: u64) -> Numbers {
    let next = Cell::new(from);
    Rc::new(move || {
        let number = next.get();
        next.set(number + 1);
        (number < end).then_some(number)
    })
}

/// Numbers below `end`, all about as often, in no order.
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

/// The same numbers, but only so many.
pub(crate) fn limited(numbers: Numbers, count: u64) -> Numbers {
    let left = Cell::new(count);
    Rc::new(move || {
        left.set(left.get().checked_sub(1)?);
        numbers()
    })
}

impl Load<'_> {
    /// Runs it. Must be called within a `LocalSet`.
    pub(crate) async fn run(self) -> anyhow::Result<Outcome> {
        let mut connections = Vec::new();
        for _ in 0..self.connections {
            let connection = Connection::open(self.endpoint).await;
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

/// One connection of a load.
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
    /// Answers per second.
    pub(crate) fn rate(&self) -> f64 {
        self.times.len() as f64 / self.elapsed.as_secs_f64()
    }

    /// The time that so many per cent of the answers took at most.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let last = self.times.len().saturating_sub(1);
        self.times
            .get(last * percent / 100)
            .copied()
            .unwrap_or_default()
    }

    /// Processor time of the server for each answer.
    pub(crate) fn processor(&self) -> Duration {
        self.processor / u32::try_from(self.times.len()).unwrap_or(u32::MAX).max(1)
    }
}
