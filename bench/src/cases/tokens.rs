//! Checks of service-account tokens.

use std::{hint::black_box, time::Duration};

use anyhow::{Context, ensure};
use http::{Request, request::Parts};
use kubewright_apiserver::{ApiServer, Body, auth::Credentials};
use kubewright_kube_apiserver::KubeApiServer;
use serde_json::{Value, json};

use super::{Bench, Case, OURS, micros, on_one_thread};
use crate::{
    contest::{Contestant, Digests, Sample, hold},
    proc,
    results::Section,
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "tokens",
    title: "service-account tokens, checked the first time and again",
    what: "Ours alone, in process: processor time of authenticating one request by a token. The signature of a token is verified the \
           first time; its account, and the pod that it is bound to, are looked up each time.",
    run,
};

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::cost("first", "the first time", "µs").at_most(60.0),
        Row::cost("again", "seen before", "µs").at_most(2.0),
        Row::cost("pod", "seen before, bound to a pod", "µs").at_most(2.0),
        Row::cost("unknown", "a token that is no JWT", "µs"),
    ];
    // Fewer than the server remembers.
    let (tokens, count) = (bench.size(1000, 100), bench.size(50_000, 1000));
    let ours = Contestant::new(OURS, move || on_one_thread(turn(tokens, count)));
    hold(section, bench.rounds(5), &Digests::new(), vec![ours]);
    Ok(())
}

async fn turn(tokens: usize, count: u32) -> anyhow::Result<Sample> {
    let api = KubeApiServer::builder().build().await;
    let api = api.map_err(|status| anyhow::anyhow!(status.message))?;
    let server = api.server();
    let core = "/api/v1/namespaces/default";
    let account = json!({"metadata": {"name": "web"}});
    post(server, &format!("{core}/serviceaccounts"), account).await?;
    post(server, &format!("{core}/pods"), pod()).await?;
    let mut requests = Vec::new();
    for _ in 0..tokens {
        requests.push(with_token(&token(server, json!({})).await?)?);
    }
    let bound = json!({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "web-1"}});
    let bound = with_token(&token(server, bound).await?)?;

    let mut sample = Sample::default();
    let mut record = |key: &str, time: Duration| {
        sample.figures.insert(key.to_owned(), micros(time));
    };
    let before = proc::thread_time()?;
    for request in &requests {
        ensure!(
            is_known(server, request).await,
            "scores nothing: a token was rejected"
        );
    }
    let times = u32::try_from(requests.len())?;
    record("first", (proc::thread_time()? - before) / times);
    let again = requests.first().context("there are tokens")?;
    record("again", each(server, again, count, true).await?);
    record("pod", each(server, &bound, count, true).await?);
    let unknown = with_token("31ada4fd-adec-460c-809a-9e56ceb75269")?;
    record("unknown", each(server, &unknown, count, false).await?);
    Ok(sample)
}

/// Returns the processor time of one of many checks of the same request.
async fn each(
    server: &ApiServer,
    request: &Parts,
    count: u32,
    known: bool,
) -> anyhow::Result<Duration> {
    ensure!(
        is_known(server, request).await == known,
        "scores nothing: an unexpected user"
    );
    let before = proc::thread_time()?;
    for _ in 0..count {
        black_box(is_known(server, request).await);
    }
    Ok((proc::thread_time()? - before) / count)
}

async fn is_known(server: &ApiServer, request: &Parts) -> bool {
    let credentials = Credentials::new(request, server.audiences());
    let known = credentials.authenticate(&**server.authenticator()).await;
    known.is_ok_and(|known| known.is_some())
}

fn with_token(token: &str) -> anyhow::Result<Parts> {
    let request = Request::get("/api").header("authorization", format!("Bearer {token}"));
    Ok(request.body(())?.into_parts().0)
}

async fn token(server: &ApiServer, spec: Value) -> anyhow::Result<String> {
    let path = "/api/v1/namespaces/default/serviceaccounts/web/token";
    let answer = post(server, path, json!({"spec": spec})).await?;
    let token = answer["status"]["token"].as_str();
    Ok(token.context("an answer without a token")?.to_owned())
}

async fn post(server: &ApiServer, path: &str, object: Value) -> anyhow::Result<Value> {
    const LONGEST: usize = 1 << 20;
    let request = Request::post(path)
        .header("content-type", "application/json")
        .body(Body::from(object.to_string()))?;
    let response = server.handle(request).await;
    let status = response.status();
    let body = response.into_body().collect_up_to(LONGEST).await;
    let body = body.ok().flatten().context("an answer without an end")?;
    ensure!(status == 201, "{path}: {status}");
    Ok(serde_json::from_slice(&body)?)
}

/// A pod of a few kilobytes.
fn pod() -> Value {
    let variables: Vec<Value> = (0..40)
        .map(|n| json!({"name": format!("SETTING_{n}"), "value": "some text that is not short"}))
        .collect();
    json!({
        "metadata": {"name": "web-1", "labels": {"app": "web"}},
        "spec": {
            "serviceAccountName": "web",
            "containers": [{"name": "web", "image": "example.com/web:1", "env": variables}],
        },
    })
}
