use std::time::Duration;

use http::Method;

use super::*;
use crate::request::{RequestInfo, query::Query};

fn info(method: &Method, uri: &str) -> RequestInfo {
    let (path, query) = uri
        .split_once('?')
        .map_or((uri, None), |(path, query)| (path, Some(query)));
    RequestInfo::new(method, path, &Query::parse(query))
}

#[test]
fn requests_are_counted_by_code_and_bucket() {
    let metrics = Metrics::new(Timestamp::from_second(1_700_000_000).unwrap());
    let get = info(&Method::GET, "/api/v1/namespaces/a/pods/x");
    let labels = RequestLabels::of(&get, &Method::GET, false, &Query::default());
    metrics.observe(&labels, 200, Duration::from_millis(5));
    metrics.observe(&labels, 200, Duration::from_millis(70));
    metrics.observe(&labels, 404, Duration::from_secs(100));
    let text = metrics.render();
    let common = r#"component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="",verb="GET",version="v1""#;
    for line in [
        format!(r#"apiserver_request_total{{code="200",{common}}} 2"#),
        format!(r#"apiserver_request_total{{code="404",{common}}} 1"#),
        format!(r#"apiserver_request_duration_seconds_bucket{{{common},le="0.005"}} 1"#),
        format!(r#"apiserver_request_duration_seconds_bucket{{{common},le="0.05"}} 1"#),
        format!(r#"apiserver_request_duration_seconds_bucket{{{common},le="0.1"}} 2"#),
        format!(r#"apiserver_request_duration_seconds_bucket{{{common},le="1"}} 2"#),
        format!(r#"apiserver_request_duration_seconds_bucket{{{common},le="60"}} 2"#),
        format!(r#"apiserver_request_duration_seconds_bucket{{{common},le="+Inf"}} 3"#),
        format!(r#"apiserver_request_duration_seconds_sum{{{common}}} 100.075"#),
        format!(r#"apiserver_request_duration_seconds_count{{{common}}} 3"#),
        "# TYPE apiserver_request_duration_seconds histogram".to_owned(),
        "process_start_time_seconds 1700000000".to_owned(),
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\nis not in\n{text}");
    }
}

#[test]
fn labels_are_those_of_the_real_server() {
    let cases = [
        (Method::GET, "/api/v1/pods", "LIST cluster pods"),
        (
            Method::GET,
            "/api/v1/namespaces/a/pods",
            "LIST namespace pods",
        ),
        (
            Method::GET,
            "/api/v1/namespaces/a/configmaps?watch=1&fieldSelector=metadata.name%3Dx",
            "WATCH resource configmaps",
        ),
        (
            Method::POST,
            "/api/v1/namespaces/a/pods",
            "POST resource pods",
        ),
        (
            Method::PUT,
            "/api/v1/namespaces/a/pods/x",
            "PUT resource pods",
        ),
        (
            Method::DELETE,
            "/api/v1/namespaces/a/pods",
            "DELETECOLLECTION namespace pods",
        ),
        (
            Method::GET,
            "/api/v1/namespaces/a/pods/x/log",
            "CONNECT resource pods",
        ),
        (Method::GET, "/livez", "GET  "),
        (Method::GET, "/no/such/path", "GET  "),
    ];
    for (method, uri, expected) in cases {
        let info = info(&method, uri);
        let labels = RequestLabels::of(&info, &method, false, &Query::default());
        assert_eq!(
            format!("{} {} {}", labels.verb, labels.scope, labels.resource),
            expected,
            "{uri}"
        );
    }
    let patch = info(&Method::PATCH, "/api/v1/namespaces/a/pods/x");
    let labels = RequestLabels::of(
        &patch,
        &Method::PATCH,
        true,
        &Query::parse(Some("dryRun=All&dryRun=All")),
    );
    assert_eq!((labels.verb, labels.dry_run), ("APPLY", "All"));
    for query in ["dryRun=", "dryRun=All&dryRun=some"] {
        let query = Query::parse(Some(query));
        let labels = RequestLabels::of(&patch, &Method::PATCH, false, &query);
        assert_eq!((labels.verb, labels.dry_run), ("PATCH", "invalid"));
    }
    let probe = info(&Method::GET, "/livez");
    assert_eq!(
        RequestLabels::of(&probe, &Method::GET, false, &Query::default()).subresource,
        "/livez"
    );
    let unknown = info(&Method::GET, "/no/such/path");
    assert_eq!(
        RequestLabels::of(&unknown, &Method::GET, false, &Query::default()).subresource,
        "",
        "clients invent no labels"
    );
}

#[test]
fn gauges_go_down_when_the_guards_are_dropped() {
    let metrics = Arc::new(Metrics::new(Timestamp::UNIX_EPOCH));
    let watch = info(&Method::GET, "/api/v1/pods?watch=1");
    let labels = RequestLabels::of(&watch, &Method::GET, false, &Query::default());
    let guards = (
        metrics.in_flight(Effect::Mutating),
        metrics.in_flight(Effect::ReadOnly),
        metrics.in_flight(Effect::ReadOnly),
    );
    let watches = (metrics.long_running(&labels), metrics.long_running(&labels));
    let text = metrics.render();
    let running = r#"apiserver_longrunning_requests{component="apiserver",group="",resource="pods",scope="cluster",subresource="",verb="WATCH",version="v1"}"#;
    assert!(text.contains("apiserver_current_inflight_requests{request_kind=\"mutating\"} 1\n"));
    assert!(text.contains("apiserver_current_inflight_requests{request_kind=\"readOnly\"} 2\n"));
    assert!(text.contains(&format!("{running} 2\n")), "{text}");
    drop((guards, watches));
    let text = metrics.render();
    assert!(text.contains("apiserver_current_inflight_requests{request_kind=\"readOnly\"} 0\n"));
    assert!(text.contains(&format!("{running} 0\n")), "{text}");
}

#[test]
fn objects_are_counted_when_the_metrics_are_read() {
    let metrics = Metrics::new(Timestamp::UNIX_EPOCH);
    metrics.count_objects_with(|| {
        let count = |group: &str, resource: &str, count| ObjectCount {
            group: group.into(),
            resource: resource.into(),
            count,
        };
        vec![count("apps", "deployments", 3), count("", "pods", 2)]
    });
    let text = metrics.render();
    assert!(
        text.contains("apiserver_storage_objects{resource=\"deployments.apps\"} 3\n"),
        "{text}"
    );
    assert!(text.contains("apiserver_storage_objects{resource=\"pods\"} 2\n"));
    assert!(
        text.contains("apiserver_resource_objects{group=\"apps\",resource=\"deployments\"} 3\n")
    );
}

#[test]
fn the_number_of_series_is_bounded() {
    let metrics = Metrics::new(Timestamp::UNIX_EPOCH);
    for n in 0..MOST_SERIES + 100 {
        let resource = format!("r{n}\"");
        let labels = RequestLabels {
            verb: "GET",
            resource: &resource,
            ..RequestLabels::default()
        };
        metrics.observe(&labels, 200, Duration::ZERO);
    }
    assert_eq!(metrics.series.read().count, MOST_SERIES + 1);
    let other = metrics.render();
    let other = other
        .lines()
        .find(|l| l.starts_with("apiserver_request_total") && l.contains("verb=\"other\""));
    assert!(
        other.is_some_and(|line| line.ends_with(" 100")),
        "{other:?}"
    );
}
