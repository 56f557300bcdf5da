//! The cost of admission policies, in process.

use std::{sync::Arc, time::Duration};

use anyhow::ensure;
use bytes::Bytes;
use http::Request;
use kubewright_apiserver::{Body, auth::MASTERS, request::UserInfo};
use kubewright_kube_apiserver::{KubeApiServer, PluginName};
use serde_json::{Value, json};

use super::{Bench, Case, OURS, micros, on_one_thread, servers::VALUE_BYTES};
use crate::{
    contest::{Contestant, Digests, Sample, hold},
    proc, requests,
    results::Section,
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "policies",
    title: "cost of admission policies",
    what: "Ours alone, in process: processor time of a dry run that creates a ConfigMap of 512 bytes, without policies and webhooks, and \
           what is added to it: by the plugins for policies and webhooks when there are none (beside a server without these plugins), by \
           one policy with three expressions, and by 100 policies that do not match: for another resource, for another operation, with a \
           selector of other objects. The servers take turns, a few hundred requests each.",
    run,
};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

/// The number of policies that do not match.
const MANY: usize = 100;

/// The requests of one turn of a server.
const BATCH: u32 = 500;

/// The plugins for policies and webhooks.
const PLUGINS: [&str; 4] = [
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
];

/// The servers by the keys of their rows.
const SERVERS: [(&str, Setup); 6] = [
    ("without_plugins", Setup::WithoutPlugins),
    ("none", Setup::Policies(0, "configmaps", "CREATE", false)),
    ("three", Setup::Policies(1, "configmaps", "CREATE", false)),
    (
        "resource",
        Setup::Policies(MANY, "secrets", "CREATE", false),
    ),
    (
        "operation",
        Setup::Policies(MANY, "configmaps", "DELETE", false),
    ),
    (
        "selector",
        Setup::Policies(MANY, "configmaps", "CREATE", true),
    ),
];

/// The set-up of a server.
#[derive(Clone, Copy)]
enum Setup {
    WithoutPlugins,
    /// Policies for a resource and an operation, with or without a selector of objects.
    Policies(usize, &'static str, &'static str, bool),
}

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::cost("none", "create without policies and webhooks", "µs"),
        Row::cost("plugins", "added by plugins that have nothing to do", "µs").at_most(0.5),
        Row::cost("three", "added by a policy with three expressions", "µs").at_most(10.0),
        Row::cost(
            "resource",
            "added by 100 policies for another resource",
            "µs",
        )
        .at_most(5.0),
        Row::cost(
            "operation",
            "added by 100 policies for another operation",
            "µs",
        )
        .at_most(5.0),
        Row::cost("selector", "added by 100 policies for other labels", "µs").at_most(5.0),
    ];
    let batches = bench.size(40, 2);
    let ours = Contestant::new(OURS, move || on_one_thread(turn(batches)));
    hold(section, bench.rounds(5), &Digests::new(), vec![ours]);
    Ok(())
}

async fn turn(batches: u32) -> anyhow::Result<Sample> {
    let mut servers = Vec::new();
    for (key, setup) in SERVERS {
        let server = start(setup).await?;
        create(&server).await?;
        servers.push((key, server, Duration::ZERO));
    }
    for _ in 0..batches {
        for (_, server, time) in &mut servers {
            let before = proc::thread_time()?;
            for _ in 0..BATCH {
                create(server).await?;
            }
            *time += proc::thread_time()? - before;
        }
    }
    let of = |wanted: &str| {
        let found = servers.iter().find(|(key, ..)| *key == wanted);
        found.map_or(f64::NAN, |(_, _, time)| micros(*time / (batches * BATCH)))
    };
    let none = of("none");
    let mut sample = Sample::default();
    let mut add = |key: &str, figure: f64| sample.figures.insert(key.to_owned(), figure);
    add("none", none);
    add("plugins", none - of("without_plugins"));
    for key in ["three", "resource", "operation", "selector"] {
        add(key, of(key) - none);
    }
    Ok(sample)
}

async fn start(setup: Setup) -> anyhow::Result<KubeApiServer> {
    let mut builder = KubeApiServer::builder();
    if let Setup::WithoutPlugins = setup {
        let plugins: Result<Vec<PluginName>, _> = PLUGINS.iter().map(|name| name.parse()).collect();
        builder = builder.disable_admission_plugins(plugins?);
    }
    let server = builder.build().await;
    let server = server.map_err(|status| anyhow::anyhow!(status.message))?;
    if let Setup::Policies(count, resource, operation, selector) = setup {
        for n in 0..count {
            let name = format!("bench-{n}");
            let policy = policy(&name, (resource, operation), selector).to_string();
            let path = format!("{GROUP}/validatingadmissionpolicies");
            post(&server, &path, policy.into()).await?;
            let binding = json!({
                "metadata": {"name": name},
                "spec": {"policyName": name, "validationActions": ["Deny"]},
            });
            let path = format!("{GROUP}/validatingadmissionpolicybindings");
            post(&server, &path, binding.to_string().into()).await?;
        }
    }
    Ok(server)
}

fn policy(name: &str, (resource, operation): (&str, &str), selector: bool) -> Value {
    let expressions = [
        "object.metadata.name.startsWith('map')",
        "has(object.data) && size(object.data) < 100",
        "object.data.all(key, size(object.data[key]) < 10000)",
    ];
    let validations = expressions.map(|expression| json!({"expression": expression}));
    let mut policy = json!({
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": [operation], "resources": [resource],
            }]},
            "validations": validations,
        },
    });
    if selector {
        let labels = json!({"matchLabels": {"example.com/policy": name}});
        policy["spec"]["matchConstraints"]["objectSelector"] = labels;
    }
    policy
}

/// Creates a ConfigMap that is not stored.
async fn create(server: &KubeApiServer) -> anyhow::Result<()> {
    let path = format!("{}?dryRun=All", requests::config_maps("default"));
    let body = requests::config_map_named("map", VALUE_BYTES);
    post(server, &path, body.into()).await
}

async fn post(server: &KubeApiServer, path: &str, body: Bytes) -> anyhow::Result<()> {
    let admin = Arc::new(UserInfo {
        name: "admin".to_owned(),
        groups: vec![MASTERS.to_owned()],
        ..UserInfo::default()
    });
    let request = Request::post(path)
        .header("content-type", "application/json")
        .body(Body::from(body))?;
    let status = server.server().handle_as(admin, request).await.status();
    ensure!(status == 201, "cannot create an object: {status}");
    Ok(())
}
