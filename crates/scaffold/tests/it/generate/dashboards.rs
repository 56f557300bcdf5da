//! Dashboards and alert rules: every metric that they query is in a scrape of a running operator, and every query can be parsed.

use std::{
    collections::BTreeSet,
    io::Write,
    process::{Command, Stdio},
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kubewright_controller::{
    Action, Context, Controller, Manager, Request, Result, create_or_update,
    leader_election::ElectionConfig,
};
use kubewright_scaffold::generate::{File, Target, render};
use kubewright_testing::TestCluster;
use serde_json::Value;

use super::{crew, parsed, rendered, settings};

fn files() -> Vec<File> {
    rendered(&crew(), Target::Dashboards)
}

fn file(files: &[File], name: &str) -> Value {
    let path = format!("config/observability/{name}");
    let file = files.iter().find(|file| file.path == path).unwrap();
    match name.ends_with(".json") {
        true => serde_json::from_str(&file.text).unwrap(),
        false => parsed(std::slice::from_ref(file)).remove(0),
    }
}

/// Returns all queries: of panels, with their variables replaced, and of alerts.
fn queries() -> Vec<String> {
    let files = files();
    let mut queries = Vec::new();
    for name in ["controllers.json", "resources.json"] {
        let dashboard = file(&files, name);
        for panel in dashboard["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().unwrap() {
                queries.push(target["expr"].as_str().unwrap().to_owned());
            }
        }
    }
    let rules = file(&files, "rules.yaml");
    for rule in rules["spec"]["groups"][0]["rules"].as_array().unwrap() {
        queries.push(rule["expr"].as_str().unwrap().to_owned());
    }
    queries
        .into_iter()
        .map(|query| query.replace("$namespace", ".*").replace("$pod", ".*"))
        .collect()
}

/// Returns the metrics of a query: the words before a selector or a range, and those that are all of an expression.
fn metrics(query: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = query.split(|c: char| !is_part(c)).map(str::to_owned);
    let prefixes = [
        "controller_runtime_",
        "workqueue_",
        "kubewright_",
        "informer_",
        "rest_client_",
        "process_",
        "leader_election_",
    ];
    words
        .filter(|word| prefixes.iter().any(|prefix| word.starts_with(prefix)))
        .collect()
}

/// Keeps a Secret for each ConfigMap.
async fn mirror(context: Context, request: Request) -> Result<Action> {
    if context.get::<ConfigMap>(&request).await?.is_some() {
        let mut secret = Secret::default();
        secret.metadata.name = Some(request.name().to_owned());
        let secrets = context.client().api::<Secret>("default");
        create_or_update(&secrets, secret, |_| {}).await?;
    }
    Ok(Action::done())
}

/// Returns what a manager with a controller serves at `/metrics`, after a reconcile.
async fn scrape() -> String {
    let cluster = TestCluster::start().await;
    let manager = Manager::builder(cluster.client())
        .leader_election(ElectionConfig::new("crew", "default"))
        .build()
        .unwrap();
    Controller::for_::<ConfigMap>()
        .build(&manager, mirror)
        .unwrap();
    let running = cluster.run(&manager);
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let mut map = ConfigMap::default();
    map.metadata.name = Some("sky".into());
    maps.create(&Default::default(), &map).await.unwrap();
    cluster
        .settled_within(Duration::from_secs(60))
        .await
        .unwrap();
    let text = manager.registry().encode();
    running.stop().await.unwrap();
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn every_queried_metric_is_in_a_scrape() {
    let text = scrape().await;
    let served = |name: &str| {
        let is_sample = |line: &str| {
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
        };
        // An empty queue has no sample.
        let is_declared = |line: &str| line.starts_with(&format!("# TYPE {name} "));
        text.lines()
            .any(|line| is_sample(line) || is_declared(line))
    };
    let queries = queries();
    assert!(queries.len() > 30, "{}", queries.len());
    for query in &queries {
        let metrics = metrics(query);
        assert!(!metrics.is_empty(), "{query} queries nothing");
        for name in metrics {
            assert!(
                served(&name),
                "{name} of {query} is not in the scrape:\n{text}"
            );
        }
    }
}

/// The labels by which queries group exist, too.
#[tokio::test(flavor = "multi_thread")]
async fn every_grouping_is_by_labels_of_the_metric() {
    let text = scrape().await;
    for query in queries() {
        for (_, rest) in query
            .match_indices(" by (")
            .map(|(at, _)| query.split_at(at + 5))
        {
            let labels = rest.split(')').next().unwrap();
            for label in labels.split(", ").filter(|label| *label != "pod") {
                let known = metrics(&query).iter().any(|name| {
                    let samples = text.lines().filter(|line| line.starts_with(name.as_str()));
                    let samples: Vec<&str> = samples.collect();
                    let has_label = |line: &&str| line.contains(&format!("{label}=\""));
                    samples.is_empty() || samples.iter().any(has_label)
                });
                assert!(known, "no metric of {query} has the label {label}");
            }
        }
    }
}

/// promtool parses the rules, and the queries of panels as rules.
#[test]
fn every_query_can_be_parsed() {
    let rules: Vec<Value> = queries()
        .into_iter()
        .enumerate()
        .map(|(n, query)| serde_json::json!({"record": format!("query:{n}"), "expr": query}))
        .collect();
    let groups = serde_json::json!({"groups": [{"name": "queries", "rules": rules}]});
    let started = Command::new("promtool")
        .args(["check", "rules"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = started else {
        println!("skipped: promtool is not installed");
        return;
    };
    let text = groups.to_string();
    promtool
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let ended = promtool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{said}");
}

#[test]
fn parentheses_and_quotes_of_queries_are_balanced() {
    for query in queries() {
        let count = |c: char| query.matches(c).count();
        assert_eq!(count('('), count(')'), "{query}");
        assert_eq!(count('{'), count('}'), "{query}");
        assert_eq!(count('['), count(']'), "{query}");
        assert_eq!(count('"') % 2, 0, "{query}");
    }
}

#[test]
fn a_service_monitor_needs_a_metrics_port() {
    let has_monitor = |files: &[File]| {
        let mut paths = files.iter().map(|file| file.path.as_str());
        paths.any(|path| path == "config/observability/servicemonitor.yaml")
    };
    assert!(!has_monitor(&files()));
    let mut settings = settings();
    settings.metrics_port = Some(8080);
    let with_port = render(&crew(), &settings, &[Target::Dashboards, Target::Yaml]).unwrap();
    assert!(has_monitor(&with_port));
    // It selects the Service of the installer.
    let monitor = file(&with_port, "servicemonitor.yaml");
    let selected = &monitor["spec"]["selector"]["matchLabels"];
    let all = parsed(
        &with_port
            .into_iter()
            .filter(|it| it.path.ends_with("install.yaml"))
            .collect::<Vec<_>>(),
    );
    let service = all
        .iter()
        .find(|it| it["kind"] == "Service" && it["spec"]["ports"][0]["targetPort"] == "metrics")
        .unwrap();
    let endpoint = &monitor["spec"]["endpoints"][0];
    assert_eq!(service["spec"]["ports"][0]["name"], endpoint["port"]);
    assert_eq!(endpoint["scheme"], "https");
    assert_eq!(&service["metadata"]["labels"], selected);
    assert_eq!(
        service["metadata"]["namespace"],
        monitor["metadata"]["namespace"]
    );
}
