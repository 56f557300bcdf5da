//! A manager that serves a defaulter and a validator of pods until the standard input ends. The input is a review, which the
//! defaulter answers again and again, in process.

use std::thread;

use anyhow::Context;
use bytes::Bytes;
use http::Request;
use k8s_openapi::api::core::v1::Pod;
use kubewright_bench_operator::{Sample, Work, manager, proc, while_running};
use kubewright_controller::Result;
use kubewright_webhook::{Certificates, WebhookServer, Webhooks};
use tokio::{
    io::{AsyncReadExt, stdin},
    net::TcpListener,
    runtime::Builder,
};

/// The number of reviews in process, and of those before them that are not counted.
const COUNT: u32 = 20_000;
const WARM_UP: u32 = 2_000;

/// The path of the defaulter.
const MUTATE: &str = "/mutate--v1-pod";

pub(super) async fn measure(work: &Work) -> anyhow::Result<Sample> {
    let manager = manager(work).await?.build()?;
    let webhooks = Webhooks::builder()
        .defaulter(default)
        .validator(validate)
        .client(manager.client().clone())
        .build()?;
    let certificates = Certificates::directory(&work.certificates);
    let listener = TcpListener::bind(("127.0.0.1", work.port)).await?;
    WebhookServer::new(webhooks.clone(), certificates).add_to(&manager, listener)?;
    while_running(&manager, async {
        let mut review = Vec::new();
        stdin().read_to_end(&mut review).await?;
        let measured = thread::spawn(move || in_process(&webhooks, &review.into()));
        let cost = measured.join().ok().context("the defaulter panicked")??;
        let mut sample = Sample::default();
        sample.figures.insert("default_in_process".to_owned(), cost);
        Ok(sample)
    })
    .await
}

/// Returns the processor time of a review, in microseconds.
fn in_process(webhooks: &Webhooks, review: &Bytes) -> anyhow::Result<f64> {
    let answer = async |count: u32| {
        for _ in 0..count {
            let request = Request::post(MUTATE).header("content-type", "application/json");
            webhooks.call(request.body(review.clone())?).await;
        }
        anyhow::Ok(())
    };
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        answer(WARM_UP).await?;
        let before = proc::thread_time()?;
        answer(COUNT).await?;
        let time = proc::thread_time()? - before;
        Ok(time.as_secs_f64() * 1e6 / f64::from(COUNT))
    })
}

fn default(pod: &mut Pod) {
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert("team".to_owned(), "web".to_owned());
}

fn validate(pod: &Pod) -> Result<()> {
    let mut containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    match containers.all(|container| container.image.is_some()) {
        true => Ok(()),
        false => Err("a container needs an image".into()),
    }
}
