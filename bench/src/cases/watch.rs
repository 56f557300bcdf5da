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
    servers::{self, Servers},
};
use crate::{
    contest::Sample,
    endpoint::Endpoint,
    proc,
    requests::{self, Template},
    results::{Section, median},
    rows::Row,
    wire::{Answer, Connection},
};

pub(crate) const CASE: Case = Case {
    name: "watch",
    title: "one write, 1,000 watchers",
    what: "Opens 1,000 watches on connections of their own and writes one object: the time from before the write is sent until \
           the last watcher has read the event, median of 10 writes. Memory is what resident memory grew by when the watchers \
           connected, TLS and HTTP included. Every watcher must hear of every write.",
    run,
};

const WRITES: u64 = 10;
/// The time limit for an event to arrive.
const PATIENCE: Duration = Duration::from_secs(10);

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::cost("last", "write to the last of the watchers", "ms").at_most(20.0),
        Row::cost("memory", "memory per watcher", "KB"),
    ];
    let watchers = bench.size(1000, 100);
    let rounds = (Servers::Kept, bench.rounds(3));
    servers::contest(
        bench,
        section,
        rounds,
        async |_| Ok(()),
        async |endpoint, ()| turn(endpoint, watchers).await,
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

async fn turn(endpoint: &Endpoint, watchers: usize) -> anyhow::Result<Sample> {
    let namespace = servers::namespace(endpoint).await?;
    let path = requests::config_maps(&namespace);
    let now = ask(endpoint, &Template::new(endpoint, "GET", &path, ""), 200).await?;
    let revision =
        between(&now, "\"resourceVersion\":\"", "\"").context("a LIST has no version")?;
    let target = format!("{path}?watch=1&resourceVersion={revision}");
    let request = Template::new(endpoint, "GET", &target, "");

    let before = proc::resident(&endpoint.pids)?;
    let audience = Rc::new(Audience::default());
    let mut tasks = JoinSet::new();
    for _ in 0..watchers {
        let mut connection = Connection::open(endpoint)
            .await
            .context("cannot connect; 1,000 watchers need `ulimit -n` above 1,100")?;
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
        tasks.spawn_local(watcher(connection, answer, audience.clone()));
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
    let mut sample = Sample::default();
    sample.figures.insert("last".to_owned(), last);
    sample.figures.insert("memory".to_owned(), memory);
    Ok(sample)
}

/// Counts events until the watch ends. Every event is a line.
async fn watcher(mut connection: Connection, mut answer: Answer, audience: Rc<Audience>) {
    loop {
        let mut events = 0;
        let mut count = |data: &[u8]| {
            events += data.iter().filter(|byte| **byte == b'\n').count();
        };
        if let Err(error) = connection.receive(&mut answer, &mut count).await {
            audience.ended.replace(Some(error.to_string()));
            return;
        }
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
