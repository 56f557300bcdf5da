//! Reconciles that do nothing, read their object from the cache, or write its status.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
use kubewright_bench_operator::{Sample, Work, manager, while_running};
use kubewright_controller::{Action, Context, Controller, Error, Predicate, Request, Result};
use tokio::sync::Notify;

use crate::processor_time;

const NOOP: u8 = 0;
const READ: u8 = 1;
const UPDATE: u8 = 2;

/// The current mode of reconciles, and the number done.
#[derive(Default)]
struct Stage {
    phase: AtomicU8,
    /// The status to write.
    replicas: AtomicU64,
    done: AtomicU64,
    goal: AtomicU64,
    reached: Notify,
}

impl Stage {
    async fn reconcile(&self, context: Context, request: Request) -> Result<Action> {
        let phase = self.phase.load(SeqCst);
        if phase != NOOP {
            let object = context.get::<Deployment>(&request).await?;
            let object = object.ok_or_else(|| Error::message("the object is gone"))?;
            if phase == UPDATE {
                self.update(&context, Arc::unwrap_or_clone(object)).await?;
            }
        }
        if self.done.fetch_add(1, SeqCst) + 1 == self.goal.load(SeqCst) {
            self.reached.notify_one();
        }
        Ok(Action::done())
    }

    async fn update(&self, context: &Context, mut object: Deployment) -> Result<()> {
        let replicas = i32::try_from(self.replicas.load(SeqCst)).ok();
        object.status = Some(DeploymentStatus {
            observed_generation: object.metadata.generation,
            replicas,
            updated_replicas: replicas,
            ready_replicas: replicas,
            available_replicas: replicas,
            ..object.status.unwrap_or_default()
        });
        context.client().update_status(&object).await?;
        Ok(())
    }
}

pub(super) async fn measure(work: &Work) -> anyhow::Result<Sample> {
    let manager = manager(work).await?.build()?;
    let stage = Arc::new(Stage::default());
    stage.goal.store(work.objects, SeqCst);
    let shared = stage.clone();
    let reconcile = move |context, request| {
        let stage = shared.clone();
        async move { stage.reconcile(context, request).await }
    };
    let controller = Controller::for_::<Deployment>()
        .event_filter(Predicate::generation_changed())
        .max_concurrent_reconciles(work.workers)
        .build(&manager, reconcile)?;
    let requests: Vec<Request> = (0..work.objects)
        .map(|n| Request::new(&work.namespace, &format!("web-{n:010}")))
        .collect();
    let measure = async {
        // All initial objects have been seen.
        stage.reached.notified().await;
        let mut sample = Sample::default();
        let mut note = |key: &str, figure: f64| sample.figures.insert(key.to_owned(), figure);
        let rate = |time: Duration, count: u64| count as f64 / time.as_secs_f64().max(0.01);
        for (key, phase) in [("noop_rate", NOOP), ("read_rate", READ)] {
            let time = rounds(&stage, &controller, &requests, phase, work.noops).await?;
            note(key, rate(time, work.noops * work.objects));
        }
        let time = rounds(&stage, &controller, &requests, UPDATE, work.writes).await?;
        note(
            "status_cpu_micros",
            1e6 / rate(time, work.writes * work.objects),
        );
        Ok(sample)
    };
    while_running(&manager, measure).await
}

/// Requests every object a number of times, and returns the processor time.
async fn rounds(
    stage: &Stage,
    controller: &Controller,
    requests: &[Request],
    phase: u8,
    rounds: u64,
) -> anyhow::Result<Duration> {
    stage.phase.store(phase, SeqCst);
    let before = processor_time()?;
    for round in 0..rounds {
        stage.replicas.store(round + 1, SeqCst);
        stage.done.store(0, SeqCst);
        stage.goal.store(requests.len() as u64, SeqCst);
        for request in requests {
            controller.trigger(request.clone());
        }
        stage.reached.notified().await;
    }
    Ok(processor_time()? - before)
}
