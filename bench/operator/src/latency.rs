//! Reconciles objects that carry the time of their last change, and records the delay.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use anyhow::Context as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kubewright_bench_operator::{Digest, END, READY, Sample, Work, manager, while_running};
use kubewright_controller::{Action, Context, Controller, Error, Request, Result};
use tokio::sync::Notify;

use crate::processor_time;

/// The observations so far.
#[derive(Default)]
struct Seen {
    /// The time of each object's last change, in microseconds.
    stamps: HashMap<String, u64>,
    /// The delays until the changes were seen.
    times: Vec<Duration>,
    /// The processor time at the first observation.
    before: Duration,
}

#[derive(Default)]
struct Watcher {
    seen: Mutex<Seen>,
    ended: Notify,
}

impl Watcher {
    async fn reconcile(&self, context: Context, request: Request) -> Result<Action> {
        if request.name() == END {
            self.ended.notify_one();
            return Ok(Action::done());
        }
        let Some(object) = context.get::<ConfigMap>(&request).await? else {
            return Ok(Action::done());
        };
        // Only changes by the writer carry a time.
        let stamp = object.data.as_ref().and_then(|data| data.get("at"));
        let Some(stamp) = stamp.and_then(|at| at.parse().ok()) else {
            return Ok(Action::done());
        };
        let mut seen = self
            .seen
            .lock()
            .map_err(|_| Error::message("a reconcile panicked"))?;
        if seen.stamps.insert(request.name().to_owned(), stamp) == Some(stamp) {
            return Ok(Action::done());
        }
        if seen.times.is_empty() {
            seen.before = processor_time().map_err(|e| Error::message(e.to_string()))?;
        }
        let changed = SystemTime::UNIX_EPOCH + Duration::from_micros(stamp);
        seen.times.push(changed.elapsed().unwrap_or_default());
        Ok(Action::done())
    }
}

pub(super) async fn measure(work: &Work) -> anyhow::Result<Sample> {
    let manager = manager(work).await?.build()?;
    let watcher = Arc::new(Watcher::default());
    let shared = watcher.clone();
    Controller::for_::<ConfigMap>().build(&manager, move |context, request| {
        let watcher = shared.clone();
        async move { watcher.reconcile(context, request).await }
    })?;
    let measure = async {
        let cache = manager.client().informer::<ConfigMap>();
        cache.wait_for_sync(Duration::from_secs(60)).await?;
        let mut ready = ConfigMap::default();
        ready.metadata.name = Some(READY.to_owned());
        let api = manager.client().api::<ConfigMap>(&work.namespace);
        api.create(&PostParams::default(), &ready).await?;
        watcher.ended.notified().await;
        let now = processor_time()?;
        let mut seen = watcher
            .seen
            .lock()
            .map_err(|_| anyhow::anyhow!("a reconcile panicked"))?;
        seen.times.sort_unstable();
        let last = seen.times.len().checked_sub(1).context("nothing changed")?;
        let of = |percent: usize| seen.times[last * percent / 100].as_secs_f64() * 1e3;
        let cpu = (now - seen.before).as_secs_f64() * 1e6 / seen.times.len() as f64;
        let mut sample = Sample::default();
        let figures = [("p50", of(50)), ("p99", of(99)), ("event_cpu_micros", cpu)];
        let figures = figures.map(|(key, figure)| (key.to_owned(), figure));
        sample.figures.extend(figures);
        let mut digest = Digest::default();
        for (name, stamp) in &seen.stamps {
            let key = format!("{}/{name}", work.namespace);
            digest.add(&key, "", &stamp.to_string());
        }
        sample.digests.insert("seen".to_owned(), digest.text());
        Ok(sample)
    };
    while_running(&manager, measure).await
}
