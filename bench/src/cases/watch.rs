//! One write, and a thousand watchers that want to know: when the last of them does.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use tokio::{sync::Notify, task::JoinSet};

use super::{ask, median, millis};
use crate::{
    endpoint::Endpoint,
    proc,
    report::{Measure, Report, Whose},
    requests::{self, Template},
    wire::{Answer, Connection},
};

const LAST: Measure =
    Measure::cost("watch: write to the last of 1,000 watchers", "ms").target(20.0);
const MEMORY: Measure = Measure::cost("watch: memory per watcher", "KB");

const WATCHERS: usize = 1000;
const ROUNDS: u64 = 20;
/// How long an event may be on its way before the case is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where watchers report.
#[derive(Default)]
struct Audience {
    waiting: Cell<usize>,
    /// When the last of them had the event.
    last: Cell<Option<Instant>>,
    all: Notify,
    /// Why a watch ended; none should.
    ended: RefCell<Option<String>>,
}

/// The answer is how many objects were created.
pub(super) async fn run(
    endpoint: &Endpoint,
    namespace: &str,
    whose: Whose,
    report: &mut Report,
) -> anyhow::Result<u64> {
    let path = requests::config_maps(namespace);
    let now = ask(endpoint, &Template::new(endpoint, "GET", &path, ""), 200).await?;
    let revision =
        between(&now, "\"resourceVersion\":\"", "\"").context("a LIST has no version")?;
    let target = format!("{path}?watch=1&resourceVersion={revision}");
    let request = Template::new(endpoint, "GET", &target, "");

    let before = endpoint.pid.map(proc::resident).transpose()?;
    let audience = Rc::new(Audience::default());
    let mut tasks = JoinSet::new();
    for _ in 0..WATCHERS {
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
    if let Some((pid, before)) = endpoint.pid.zip(before) {
        let more = proc::resident(pid)?.saturating_sub(before);
        report.add(&MEMORY, whose, more as f64 / 1e3 / WATCHERS as f64);
    }

    let mut writer = Connection::open(endpoint).await?;
    let mut write = Template::new(endpoint, "POST", &path, &requests::config_map(64));
    let mut answer = Answer::new();
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        // Nothing else is under way.
        tokio::time::sleep(Duration::from_millis(50)).await;
        audience.waiting.set(WATCHERS);
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
    report.add(&LAST, whose, median(times));
    Ok(ROUNDS)
}

/// Counts events until its watch ends. Every event is a line.
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
