//! Ten thousand watchers, and writes that each reach a thousand of them.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use tokio::task::JoinSet;

use super::{
    Bench, Case, millis,
    servers::{self, Servers},
    watch::Watch,
};
use crate::{
    contest::Sample,
    endpoint::Endpoint,
    proc,
    requests::{self, JSON, Template},
    results::Section,
    rows::Row,
    wire::{Answer, Connection},
};

pub(crate) const CASE: Case = Case {
    name: "watch-many",
    title: "10,000 watchers at 100 writes per second",
    what: "Opens 10,000 watches on connections of their own, 1,000 for each of 10 namespaces, and writes 100 objects per second \
           for five seconds, in one namespace after the other: the time from before a write is sent until the last of its 1,000 \
           watchers has read the event. Memory is what resident memory grew by when the watchers connected. Every watcher must \
           hear of every write to its namespace.",
    run,
};

const NAMESPACES: usize = 10;
/// The interval between two writes.
const INTERVAL: Duration = Duration::from_millis(10);
/// The time limit for the last events to arrive.
const PATIENCE: Duration = Duration::from_secs(20);

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::rate("written", "written", "/s").at_least(98.0),
        Row::cost("p50", "a write to the last of its watchers, median", "ms"),
        Row::cost("p99", "99 of 100 within", "ms").at_most(100.0),
        Row::cost("memory", "memory per watcher", "KB").at_most(16.0),
    ];
    let watchers = bench.size(1000, 20);
    let writes = bench.size(500, 50);
    let rounds = (Servers::Fresh, bench.rounds(1));
    servers::contest(
        bench,
        section,
        rounds,
        async |_| Ok(()),
        async |endpoint, ()| turn(endpoint, watchers, writes).await,
    );
    Ok(())
}

/// The watchers of a namespace.
#[derive(Default)]
struct Audience {
    /// Of each write when it was sent, and the number of watchers that have not heard of it.
    writes: RefCell<Vec<(Instant, usize)>>,
    /// The times from a write to its last watcher.
    times: RefCell<Vec<Duration>>,
    /// The number of watches that ended.
    ended: Cell<usize>,
}

async fn turn(endpoint: &Endpoint, watchers: usize, writes: usize) -> anyhow::Result<Sample> {
    let before = proc::resident(&endpoint.pids)?;
    let mut tasks = JoinSet::new();
    let mut audiences = Vec::new();
    for _ in 0..NAMESPACES {
        let namespace = servers::namespace(endpoint).await?;
        let path = requests::config_maps(&namespace);
        let request = Watch::request(endpoint, &path, JSON).await?;
        let audience = Rc::new(Audience::default());
        for _ in 0..watchers {
            let watch = Watch::open(endpoint, &request, JSON)
                .await
                .context("10,000 watchers need `ulimit -n` above 10,100")?;
            tasks.spawn_local(listen(watch, audience.clone()));
        }
        audiences.push((audience, path));
    }
    let more = proc::resident(&endpoint.pids)?.saturating_sub(before);
    let memory = more as f64 / 1e3 / (watchers * NAMESPACES) as f64;

    let mut writer = Connection::open(endpoint).await?;
    let mut answer = Answer::new();
    let body = requests::config_map(64);
    let began = Instant::now();
    let mut pace = tokio::time::interval(INTERVAL);
    pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Burst);
    for number in 0..writes {
        pace.tick().await;
        let (audience, path) = &audiences[number % NAMESPACES];
        let mut write = Template::new(endpoint, "POST", path, &body);
        audience
            .writes
            .borrow_mut()
            .push((Instant::now(), watchers));
        let request = write.numbered(number as u64);
        writer.exchange(request, &mut answer, |_| {}).await?;
        let status = answer.status;
        ensure!(status == 201, "the write was answered {status}");
    }
    let rate = writes as f64 / began.elapsed().as_secs_f64();
    let heard = || {
        let counts = audiences.iter().map(|(a, _)| a.times.borrow().len());
        counts.sum::<usize>()
    };
    let waited = Instant::now();
    while heard() < writes {
        let ended: usize = audiences.iter().map(|(a, _)| a.ended.get()).sum();
        if ended > 0 || waited.elapsed() > PATIENCE {
            bail!(
                "scores nothing: {} of {writes} writes reached all watchers, {ended} watches ended",
                heard()
            );
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut times: Vec<Duration> = Vec::new();
    for (audience, _) in &audiences {
        times.append(&mut audience.times.borrow_mut());
    }
    times.sort_unstable();
    let percentile = |percent: usize| {
        let at = times.len().saturating_sub(1) * percent / 100;
        millis(times.get(at).copied().unwrap_or_default())
    };
    let figures = [
        ("written", rate),
        ("p50", percentile(50)),
        ("p99", percentile(99)),
        ("memory", memory),
    ];
    Ok(Sample {
        figures: figures.map(|(key, figure)| (key.to_owned(), figure)).into(),
        ..Sample::default()
    })
}

/// Notes which writes a watcher has heard of.
async fn listen(mut watch: Watch, audience: Rc<Audience>) {
    let mut heard = 0;
    loop {
        let Ok(events) = watch.events().await else {
            audience.ended.set(audience.ended.get() + 1);
            return;
        };
        for _ in 0..events {
            let mut writes = audience.writes.borrow_mut();
            let Some((sent, waiting)) = writes.get_mut(heard) else {
                continue;
            };
            *waiting -= 1;
            if *waiting == 0 {
                audience.times.borrow_mut().push(sent.elapsed());
            }
            heard += 1;
        }
    }
}
