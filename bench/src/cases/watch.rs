//! One write and a thousand watchers: the time until the last of them has the event.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use tokio::{sync::Notify, task::JoinSet};

use super::{
    Bench, Case, ask, millis,
    servers::{self, PEER, Servers},
};
use crate::{
    contest::Sample,
    endpoint::Endpoint,
    proc,
    requests::{self, JSON, Parts, Template},
    results::{Section, median},
    rows::Row,
    wire::{Answer, Connection},
};

pub(crate) const CASE: Case = Case {
    name: "watch",
    title: "one write, 1,000 watchers",
    what: "Opens 1,000 watches on connections of their own and writes one object: the time from before the write is sent until \
           the last watcher has read the event, median of 10 writes. Memory is what resident memory grew by when the watchers \
           connected, TLS and HTTP included. The same with watches in protobuf. Every watcher must hear of every write.",
    run,
};

const WRITES: u64 = 10;
/// The media type of watches in protobuf.
const PROTOBUF_STREAM: &str = "application/vnd.kubernetes.protobuf;stream=watch";
/// The time limit for an event to arrive.
const PATIENCE: Duration = Duration::from_secs(10);

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::cost("last", "write to the last of the watchers", "ms")
            .at_most(8.0)
            .better(3.0, PEER),
        Row::cost("memory", "memory per watcher", "KB").at_most(16.0),
        Row::cost(
            "last_protobuf",
            "write to the last of the watchers, protobuf",
            "ms",
        )
        .at_most(8.0)
        .better(3.0, PEER),
    ];
    let watchers = bench.size(1000, 100);
    let rounds = (Servers::Kept, bench.rounds(3));
    servers::contest(
        bench,
        section,
        rounds,
        async |_| Ok(()),
        async |endpoint, ()| {
            let mut sample = Sample::default();
            let (last, memory) = turn(endpoint, watchers, JSON).await?;
            let (last_protobuf, _) = turn(endpoint, watchers, PROTOBUF_STREAM).await?;
            let figures = [
                ("last", last),
                ("memory", memory),
                ("last_protobuf", last_protobuf),
            ];
            let figures = figures.map(|(key, figure)| (key.to_owned(), figure));
            sample.figures.extend(figures);
            Ok(sample)
        },
    );
    Ok(())
}

/// The channel on which watchers report.
#[derive(Default)]
struct Audience {
    waiting: Cell<usize>,
    /// The time at which the last watcher had the event.
    last: Cell<Option<Instant>>,
    all: Notify,
    /// The reason why a watch ended, which none should.
    ended: RefCell<Option<String>>,
}

/// Returns the time until the last watcher has an event, and the memory of one in KB.
async fn turn(
    endpoint: &Endpoint,
    watchers: usize,
    accept: &'static str,
) -> anyhow::Result<(f64, f64)> {
    let namespace = servers::namespace(endpoint).await?;
    let path = requests::config_maps(&namespace);
    let request = Watch::request(endpoint, &path, accept).await?;

    let before = proc::resident(&endpoint.pids)?;
    let audience = Rc::new(Audience::default());
    let mut tasks = JoinSet::new();
    for _ in 0..watchers {
        let watch = Watch::open(endpoint, &request, accept)
            .await
            .context("1,000 watchers need `ulimit -n` above 1,100")?;
        tasks.spawn_local(watcher(watch, audience.clone()));
    }
    let more = proc::resident(&endpoint.pids)?.saturating_sub(before);
    let memory = more as f64 / 1e3 / watchers as f64;

    let mut writer = Connection::open(endpoint).await?;
    let mut write = Template::new(endpoint, "POST", &path, &requests::config_map(64));
    let mut answer = Answer::new();
    let mut times = Vec::new();
    for round in 0..WRITES {
        // No other events are in flight.
        tokio::time::sleep(Duration::from_millis(50)).await;
        audience.waiting.set(watchers);
        let began = Instant::now();
        writer
            .exchange(write.numbered(round), &mut answer, |_| {})
            .await?;
        ensure!(
            answer.status == 201,
            "the write was answered {}",
            answer.status
        );
        let all = async {
            while audience.waiting.get() > 0 {
                audience.all.notified().await;
            }
        };
        if tokio::time::timeout(PATIENCE, all).await.is_err() {
            let ended = audience.ended.take().unwrap_or_default();
            bail!("{} watchers heard nothing; {ended}", audience.waiting.get());
        }
        times.push(millis(
            audience.last.get().map_or(PATIENCE, |last| last - began),
        ));
    }
    let last = median(&times).unwrap_or(f64::NAN);
    Ok((last, memory))
}

/// Counts the events of a watch while they arrive.
enum Events {
    /// JSON: every event is a line.
    Lines,
    /// Protobuf: every event follows its length of four bytes.
    Frames { head: u32, known: u8, left: u32 },
}

impl Events {
    fn frames() -> Self {
        Self::Frames {
            head: 0,
            known: 0,
            left: 0,
        }
    }

    /// Returns the number of events that end in these bytes.
    fn count(&mut self, data: &[u8]) -> usize {
        let Self::Frames { head, known, left } = self else {
            return data.iter().filter(|byte| **byte == b'\n').count();
        };
        let mut rest = data;
        let mut count = 0;
        while let Some((&byte, after)) = rest.split_first() {
            if *known < 4 {
                *head = *head << 8 | u32::from(byte);
                *known += 1;
                *left = *head;
                rest = after;
            } else {
                let here = rest.len().min(*left as usize);
                *left -= here as u32;
                rest = &rest[here..];
            }
            if *known == 4 && *left == 0 {
                count += 1;
                (*head, *known) = (0, 0);
            }
        }
        count
    }
}

/// An open watch.
pub(super) struct Watch {
    connection: Connection,
    answer: Answer,
    events: Events,
}

impl Watch {
    /// Returns the request for a watch that begins with the current state.
    pub(super) async fn request(
        endpoint: &Endpoint,
        path: &str,
        accept: &str,
    ) -> anyhow::Result<Template> {
        let now = ask(endpoint, &Template::new(endpoint, "GET", path, ""), 200).await?;
        let revision =
            between(&now, "\"resourceVersion\":\"", "\"").context("a LIST has no version")?;
        let target = format!("{path}?watch=1&resourceVersion={revision}");
        let parts = Parts {
            accept,
            ..Parts::new("GET", &target, b"")
        };
        Ok(Template::of(endpoint, parts))
    }

    /// Opens a watch on its own connection.
    pub(super) async fn open(
        endpoint: &Endpoint,
        request: &Template,
        accept: &str,
    ) -> anyhow::Result<Self> {
        let connection = Connection::open(endpoint).await;
        let mut connection = connection.context("cannot connect")?;
        let mut answer = Answer::new();
        connection.send(request.bytes()).await?;
        while answer.status == 0 {
            connection.receive(&mut answer, &mut |_| {}).await?;
        }
        ensure!(
            answer.status == 200,
            "a watch was answered {}",
            answer.status
        );
        let events = match accept {
            JSON => Events::Lines,
            _ => Events::frames(),
        };
        Ok(Self {
            connection,
            answer,
            events,
        })
    }

    /// Waits for bytes, and returns the number of events that end in them.
    pub(super) async fn events(&mut self) -> std::io::Result<usize> {
        let mut count = 0;
        let mut add = |data: &[u8]| count += self.events.count(data);
        self.connection.receive(&mut self.answer, &mut add).await?;
        Ok(count)
    }
}

/// Counts events until the watch ends.
async fn watcher(mut watch: Watch, audience: Rc<Audience>) {
    loop {
        let events = match watch.events().await {
            Ok(events) => events,
            Err(error) => {
                audience.ended.replace(Some(error.to_string()));
                return;
            }
        };
        let waiting = audience.waiting.get();
        audience.waiting.set(waiting.saturating_sub(events));
        if events > 0 && waiting <= events {
            audience.last.set(Some(Instant::now()));
            audience.all.notify_one();
        }
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?
        .1
        .split_once(after)
        .map(|(found, _)| found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_however_they_are_cut() {
        let bytes = b"\0\0\0\x03abc\0\0\0\x01d\0\0\0\x02ef";
        for size in 1..=bytes.len() {
            let mut events = Events::frames();
            let counts = bytes.chunks(size).map(|piece| events.count(piece));
            assert_eq!(counts.sum::<usize>(), 3, "pieces of {size}");
        }
    }
}
