//! The smallest controller: an idle manager with leader election, metrics and health checks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_bench_operator::{Sample, Work, manager, proc, run, while_running};
use kubewright_controller::{
    Action, BoxError, Context, Controller, Request, leader_election::ElectionConfig,
};
use tokio::net::TcpListener;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    run(async |work| measure(&work).await)
}

async fn measure(work: &Work) -> anyhow::Result<Sample> {
    let me = [std::process::id()];
    let election = ElectionConfig::new("idle", &work.namespace);
    let manager = manager(work).await?.leader_election(election).build()?;
    // One listener for metrics, one for health checks.
    for _ in 0..2 {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        manager.serve(listener, manager.routes())?;
    }
    let done = Arc::new(AtomicU64::new(0));
    let counted = done.clone();
    Controller::for_::<ConfigMap>().build(&manager, move |_: Context, _: Request| {
        counted.fetch_add(1, SeqCst);
        async { Ok::<_, BoxError>(Action::done()) }
    })?;
    let measure = async {
        while done.load(SeqCst) < work.objects {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // Memory of the start is released first.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (before, began) = (proc::processor_time(&me)?, Instant::now());
        tokio::time::sleep(Duration::from_millis(work.idle_millis)).await;
        let used = (proc::processor_time(&me)? - before).as_secs_f64();
        let percent = 100.0 * used / began.elapsed().as_secs_f64();
        let resident = proc::resident(&me)? as f64 / 1e6;
        let mut sample = Sample::default();
        let figures = [("idle_percent", percent), ("resident_megabytes", resident)];
        let figures = figures.map(|(key, figure)| (key.to_owned(), figure));
        sample.figures.extend(figures);
        Ok(sample)
    };
    while_running(&manager, measure).await
}
