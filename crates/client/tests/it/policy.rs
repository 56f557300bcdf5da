//! Rate limits, retries, timeouts, warnings and metrics of requests.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams, PostParams, ValidationDirective, WatchParams},
};
use kubewright_apiserver::request::Verb;
use kubewright_client::{
    ClientOptions, ClientSet, Error, RestClient,
    policy::{ClientMetrics, OnceEach, Warning},
};
use kubewright_testing::{Fault, Match};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    front::{Front, reply},
    target::{Target, map},
};

type Heard = Arc<Mutex<Vec<String>>>;

fn listener() -> (Heard, impl Fn(&Warning) + Send + Sync + 'static) {
    let heard = Heard::default();
    let ear = heard.clone();
    (heard, move |warning: &Warning| {
        ear.lock().push(warning.text.clone())
    })
}

fn unknown_field(name: &str) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "odd": 1})
}

/// The server's 429 with its Retry-After, for a write.
#[tokio::test(start_paused = true)]
async fn requests_wait_as_long_as_a_busy_server_asks() {
    let front = Front::start().await;
    let client = ClientOptions::new().wrap(front.client());
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let busy = Fault::TooManyRequests { retry_after: 7 };
    front
        .cluster()
        .faults()
        .inject(busy, Match::verb(Verb::Create), 2);
    let began = Instant::now();
    maps.create(&PostParams::default(), &map("a", "1"))
        .await
        .unwrap();
    assert_eq!(began.elapsed().as_secs(), 14);
    assert_eq!(front.seen().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn without_retries_the_refusal_says_when() {
    let front = Front::start().await;
    let client = ClientOptions::new().max_retries(0).wrap(front.client());
    let busy = Fault::TooManyRequests { retry_after: 7 };
    front
        .cluster()
        .faults()
        .inject(busy, Match::verb(Verb::Get), 1);
    let maps = ClientSet::new(client).default_namespaced::<ConfigMap>();
    let error = maps.get("a").await.unwrap_err();
    assert!(error.is_too_many_requests() && error.is_transient());
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
}

/// One limit over all attempts.
#[tokio::test(start_paused = true)]
async fn the_time_limit_covers_all_attempts() {
    let front = Front::start().await;
    let client = ClientOptions::new()
        .timeout(Duration::from_secs(20))
        .wrap(front.client());
    let busy = Fault::TooManyRequests { retry_after: 7 };
    front
        .cluster()
        .faults()
        .inject(busy, Match::verb(Verb::Get), 10);
    let began = Instant::now();
    let maps = ClientSet::new(client).default_namespaced::<ConfigMap>();
    let error = maps.get("a").await.unwrap_err();
    assert!(
        matches!(error, Error::TimedOut(after) if after.as_secs() == 20),
        "{error}"
    );
    assert_eq!((began.elapsed().as_secs(), front.seen().len()), (20, 3));
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_is_optional_and_holds_for_the_client() {
    let front = Front::start().await;
    let took = async |client: kube::Client| {
        let began = Instant::now();
        let rest = RestClient::new(client);
        for _ in 0..6 {
            rest.get().abs_path("/version").send().await.unwrap();
        }
        began.elapsed().as_millis()
    };
    assert_eq!(took(ClientOptions::new().wrap(front.client())).await, 0);
    let options = ClientOptions::new().rate_limit(2.0, 3);
    assert_eq!(took(options.wrap(front.client())).await, 1500);
    // All clients of the same options share the limit.
    assert_eq!(took(options.wrap(front.client())).await, 3000);
    // Another has its own.
    assert_eq!(
        took(ClientOptions::new().rate_limit(2.0, 3).wrap(front.client())).await,
        1500
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_begins_without_a_token_and_a_retry_takes_one() {
    let front = Front::start().await;
    let client = ClientOptions::new().rate_limit(0.1, 1).wrap(front.client());
    let maps = ClientSet::new(client).default_namespaced::<ConfigMap>();
    let began = Instant::now();
    for _ in 0..5 {
        drop(maps.watch(&WatchParams::default(), "0").await.unwrap());
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
    let busy = Fault::TooManyRequests { retry_after: 1 };
    front
        .cluster()
        .faults()
        .inject(busy, Match::verb(Verb::Watch), 2);
    drop(maps.watch(&WatchParams::default(), "0").await.unwrap());
    // One second asked for, one token there; another second, and nine more for the next token.
    assert_eq!(began.elapsed().as_secs(), 11);
}

/// No waiting for a token that comes after the end.
#[tokio::test(start_paused = true)]
async fn a_token_that_comes_too_late_is_not_waited_for() {
    let front = Front::start().await;
    let options = ClientOptions::new()
        .rate_limit(0.01, 1)
        .timeout(Duration::from_secs(5));
    let rest = RestClient::new(options.wrap(front.client()));
    rest.get().abs_path("/version").send().await.unwrap();
    let began = Instant::now();
    let error = rest.get().abs_path("/version").send().await.unwrap_err();
    assert!(matches!(error, Error::RateLimited(_)), "{error}");
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn warnings_reach_the_handler() {
    let target = Target::start().await;
    let (heard, listener) = listener();
    let options = ClientOptions::new().field_validation(ValidationDirective::Warn);
    let client = options
        .warnings(OnceEach::new(listener))
        .wrap(target.client.clone());
    let rest = RestClient::new(client);
    let post = |name: &str| {
        let path = format!("/api/v1/namespaces/{}/configmaps", target.namespace);
        rest.post().abs_path(path).json(&unknown_field(name))
    };
    let answer = post("a").send().await.unwrap();
    assert_eq!(answer.warnings()[0].text, "unknown field \"odd\"");
    post("b").send().await.unwrap();
    assert_eq!(*heard.lock(), ["unknown field \"odd\""]);

    // A request's own handler wins.
    let (own, ear) = self::listener();
    post("c").warnings(ear).send().await.unwrap();
    assert_eq!((own.lock().len(), heard.lock().len()), (1, 1));
    target.clean_up().await;
}

/// With refusals and with watches, too.
#[tokio::test(start_paused = true)]
async fn every_final_answer_may_warn() {
    let front = Front::start().await;
    let (heard, listener) = listener();
    let client = ClientOptions::new().warnings(listener).wrap(front.client());
    let warned = |code, text| {
        let mut reply = reply(code, "");
        reply
            .headers_mut()
            .insert("warning", http::HeaderValue::from_static(text));
        reply
    };
    front.answer(move |request| {
        if request
            .uri()
            .query()
            .is_some_and(|query| query.contains("watch"))
        {
            Some(warned(200, "299 - \"watching\""))
        } else {
            Some(warned(403, "299 - \"refused\""))
        }
    });
    let maps = ClientSet::new(client).default_namespaced::<ConfigMap>();
    assert!(
        maps.list(&ListParams::default())
            .await
            .unwrap_err()
            .is_forbidden()
    );
    let mut watch = maps.watch(&WatchParams::default(), "0").await.unwrap();
    assert!(watch.next().await.is_none());
    assert_eq!(*heard.lock(), ["refused", "watching"]);
}

#[tokio::test]
async fn writes_say_who_and_how_strictly() {
    let target = Target::start().await;
    let options = ClientOptions::new()
        .field_manager("shop")
        .field_validation(ValidationDirective::Strict);
    let client = options.wrap(target.client.clone());
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &target.namespace);
    let made = maps
        .create(&PostParams::default(), &map("a", "1"))
        .await
        .unwrap();
    assert_eq!(made.managed_fields()[0].manager.as_deref(), Some("shop"));
    // What the caller says stays.
    let labels = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}));
    let mine = PatchParams {
        field_manager: Some("mine".into()),
        ..PatchParams::default()
    };
    let patched = maps.patch("a", &mine, &labels).await.unwrap();
    assert!(
        patched
            .managed_fields()
            .iter()
            .any(|m| m.manager.as_deref() == Some("mine"))
    );

    let path = format!("/api/v1/namespaces/{}/configmaps", target.namespace);
    let strict = RestClient::new(client)
        .post()
        .abs_path(path)
        .json(&unknown_field("b"));
    let error = strict.send().await.unwrap_err();
    assert_eq!(error.code(), Some(400));
    assert!(
        error.to_string().contains("unknown field \"odd\""),
        "{error}"
    );
    target.clean_up().await;
}

#[tokio::test]
async fn requests_say_who_is_calling() {
    let front = Front::start().await;
    let agent = async |options: ClientOptions| {
        let rest = RestClient::new(options.wrap(front.client()));
        rest.get().abs_path("/version").send().await.unwrap();
        front.last_headers()["user-agent"]
            .to_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        agent(ClientOptions::new().user_agent("shop/1.2")).await,
        "shop/1.2"
    );
    assert!(agent(ClientOptions::new()).await.starts_with("kubewright/"));
}

#[tokio::test]
async fn the_client_keeps_its_namespace() {
    let front = Front::start().await;
    let client = kube::Client::new(front.clone(), "elsewhere");
    assert_eq!(
        ClientOptions::new().wrap(client).default_namespace(),
        "elsewhere"
    );
}

#[tokio::test(start_paused = true)]
async fn requests_are_measured_under_the_names_of_client_go() {
    let front = Front::start().await;
    let metrics = Arc::new(ClientMetrics::default());
    let client = ClientOptions::new()
        .rate_limit(1.0, 1)
        .metrics(metrics.clone())
        .wrap(front.client());
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let busy = Fault::TooManyRequests { retry_after: 3 };
    let faults = front.cluster().faults();
    faults.inject(busy, Match::verb(Verb::Create), 1);
    maps.create(&PostParams::default(), &map("a", "1"))
        .await
        .unwrap();
    maps.get("b").await.unwrap_err();
    assert_eq!(metrics.requests("429", "POST"), 1);
    assert_eq!(metrics.requests("201", "POST"), 1);
    assert_eq!(metrics.retries("201", "POST"), 1);
    assert_eq!(metrics.retries("429", "POST"), 0);
    assert_eq!(metrics.requests("404", "GET"), 1);
    let text = metrics.to_string();
    for line in [
        r#"rest_client_requests_total{code="201",method="POST",host=""} 1"#,
        r#"rest_client_request_retries_total{code="201",verb="POST",host=""} 1"#,
        // Both attempts and the pause between them are one request.
        r#"rest_client_request_duration_seconds_bucket{verb="POST",host="",le="2"} 0"#,
        r#"rest_client_request_duration_seconds_bucket{verb="POST",host="",le="4"} 1"#,
        r#"rest_client_request_duration_seconds_sum{verb="POST",host=""} 3"#,
        r#"rest_client_rate_limiter_duration_seconds_count{verb="POST",host=""} 2"#,
        r#"rest_client_rate_limiter_duration_seconds_sum{verb="GET",host=""} 1"#,
        r#"rest_client_request_size_bytes_count{verb="POST",host=""} 2"#,
        r#"rest_client_response_size_bytes_count{verb="GET",host=""} 1"#,
        "# TYPE rest_client_response_size_bytes histogram",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
    // A watch is an attempt, and takes as long as it likes.
    let watched = maps.watch(&WatchParams::default(), "0").await.unwrap();
    drop(watched);
    assert_eq!(metrics.requests("200", "GET"), 1);
    let counted = r#"rest_client_request_duration_seconds_count{verb="GET",host=""} 1"#;
    assert!(metrics.to_string().contains(counted));
}

/// Nobody answered.
#[tokio::test]
async fn a_request_without_an_answer_is_counted_with_its_host() {
    let metrics = Arc::new(ClientMetrics::default());
    let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    let options = ClientOptions::new().metrics(metrics.clone());
    let rest = RestClient::new(options.connect(config).unwrap());
    rest.get().abs_path("/version").send().await.unwrap_err();
    let line = r#"rest_client_requests_total{code="<error>",method="GET",host="127.0.0.1:1"} 1"#;
    assert!(metrics.to_string().contains(line), "{metrics}");
}
