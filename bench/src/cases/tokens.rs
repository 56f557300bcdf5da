//! Checks of service-account tokens.

use std::{hint::black_box, time::Duration};

use anyhow::{Context, ensure};
use http::{Request, request::Parts};
use kubewright_apiserver::{ApiServer, Body, auth::Credentials};
use kubewright_kube_apiserver::{KubeApiServer, KubeApiServerBuilder, ServiceAccountKeys};
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
    what: "Ours alone, in process: processor time of authenticating one request by a token. A server knows the tokens that it \
           issued; the signature of another server's token is verified the first time. The account of a token, and the pod that \
           it is bound to, are looked up each time.",
    run,
};

/// A key of 2048 bits that has no other use.
const RSA_KEY: &[u8] = include_bytes!("../../../crates/x509/tests/it/fixtures/rsa.key.pem");

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::cost("own", "the first time, its own token", "µs").at_most(60.0),
        Row::cost("first", "the first time, signed elsewhere with ECDSA", "µs").at_most(60.0),
        Row::cost("rsa", "the first time, signed elsewhere with RSA", "µs").at_most(60.0),
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
    let issuer = Issuer::start(ServiceAccountKeys::generate()).await?;
    let server = issuer.api.server();
    let requests = issuer.tokens(tokens).await?;
    let bound = json!({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "web-1"}});
    let bound = with_token(&token(server, bound).await?)?;

    let mut sample = Sample::default();
    let mut record = |key: &str, time: Duration| {
        sample.figures.insert(key.to_owned(), micros(time));
    };
    record("own", each_once(server, &requests).await?);
    let again = requests.first().context("there are tokens")?;
    record("again", each(server, again, count, true).await?);
    record("pod", each(server, &bound, count, true).await?);
    let unknown = with_token("31ada4fd-adec-460c-809a-9e56ceb75269")?;
    record("unknown", each(server, &unknown, count, false).await?);
    let sibling = issuer.sibling().await?;
    record("first", each_once(sibling.server(), &requests).await?);

    let issuer = Issuer::start(ServiceAccountKeys::from_pem(RSA_KEY)?).await?;
    let requests = issuer.tokens(tokens / 10).await?;
    let sibling = issuer.sibling().await?;
    record("rsa", each_once(sibling.server(), &requests).await?);
    Ok(sample)
}

/// A server that issues tokens.
struct Issuer {
    api: KubeApiServer,
    keys: ServiceAccountKeys,
}

impl Issuer {
    async fn start(keys: ServiceAccountKeys) -> anyhow::Result<Self> {
        let api = server(KubeApiServer::builder().service_account_keys(keys.clone())).await?;
        let core = "/api/v1/namespaces/default";
        let account = json!({"metadata": {"name": "web"}});
        post(api.server(), &format!("{core}/serviceaccounts"), account).await?;
        post(api.server(), &format!("{core}/pods"), pod()).await?;
        Ok(Self { api, keys })
    }

    /// Starts another server with the same store and the same keys.
    async fn sibling(&self) -> anyhow::Result<KubeApiServer> {
        let builder = KubeApiServer::builder().store(self.api.store().clone());
        server(builder.service_account_keys(self.keys.clone())).await
    }

    /// Returns requests with tokens of the same account.
    async fn tokens(&self, count: usize) -> anyhow::Result<Vec<Parts>> {
        let mut requests = Vec::new();
        for _ in 0..count {
            requests.push(with_token(&token(self.api.server(), json!({})).await?)?);
        }
        Ok(requests)
    }
}

async fn server(builder: KubeApiServerBuilder) -> anyhow::Result<KubeApiServer> {
    let api = builder.build().await;
    api.map_err(|status| anyhow::anyhow!(status.message))
}

/// Returns the processor time of the first check of a request.
async fn each_once(server: &ApiServer, requests: &[Parts]) -> anyhow::Result<Duration> {
    let before = proc::thread_time()?;
    for request in requests {
        ensure!(
            is_known(server, request).await,
            "scores nothing: a token was rejected"
        );
    }
    Ok((proc::thread_time()? - before) / u32::try_from(requests.len())?)
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
