//! Admission reviews of a typed object, answered in process.

use std::{hint::black_box, time::Duration};

use anyhow::ensure;
use http::Request;
use k8s_openapi::api::core::v1::Pod;
use kubewright_webhook::Webhooks;
use serde_json::{Value, json};

use super::{Bench, Case, OURS, micros, on_one_thread};
use crate::{
    contest::{Contestant, Digests, Sample, hold},
    proc,
    results::Section,
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "webhooks",
    title: "admission reviews answered by webhooks",
    what: "Ours alone, in process: processor time of one admission review of a pod of 4 KB, from the body of the request to that of the \
           answer: by a validator that allows it, by a defaulter that has nothing to change, and by one that changes one field.",
    run,
};

const ROWS: [(&str, &str); 3] = [
    ("validate", "validate"),
    ("default_nothing", "default, nothing to change"),
    ("default", "default one field"),
];

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    let row = |(key, label): (&str, &str)| Row::cost(key, label, "µs").at_most(40.0);
    section.rows = ROWS.map(row).into();
    let count = bench.size(20_000, 500);
    let ours = Contestant::new(OURS, move || turn(count));
    hold(section, bench.rounds(5), &Digests::new(), vec![ours]);
    Ok(())
}

fn turn(count: u32) -> anyhow::Result<Sample> {
    let pod = pod();
    let mut sample = Sample::default();
    for (key, _) in ROWS {
        let builder = Webhooks::builder();
        let (webhooks, path) = match key {
            "validate" => (
                builder.validator(|pod: &Pod| match &pod.metadata.name {
                    Some(_) => Ok(()),
                    None => Err("a pod needs a name".into()),
                }),
                "/validate--v1-pod",
            ),
            "default" => (
                builder.defaulter(|pod: &mut Pod| {
                    let labels = pod.metadata.labels.get_or_insert_default();
                    labels.insert("team".to_owned(), "web".to_owned());
                }),
                "/mutate--v1-pod",
            ),
            _ => (builder.defaulter(|_: &mut Pod| {}), "/mutate--v1-pod"),
        };
        let webhooks = webhooks.build()?;
        let time = on_one_thread(each(count, &webhooks, path, &pod))?;
        sample.figures.insert(key.to_owned(), micros(time));
    }
    Ok(sample)
}

/// Returns the processor time of one review.
async fn each(
    count: u32,
    webhooks: &Webhooks,
    path: &str,
    pod: &Value,
) -> anyhow::Result<Duration> {
    let body = bytes::Bytes::from(review(pod).to_string());
    let request = || {
        Request::post(path)
            .header("content-type", "application/json")
            .body(body.clone())
    };
    let answer = webhooks.call(request()?).await.into_body();
    let answer: Value = serde_json::from_slice(&answer)?;
    ensure!(
        answer["response"]["allowed"] == true,
        "scores nothing: a review was denied"
    );
    let before = proc::thread_time()?;
    for _ in 0..count {
        black_box(webhooks.call(request()?).await);
    }
    Ok((proc::thread_time()? - before) / count)
}

fn review(pod: &Value) -> Value {
    json!({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
            "requestResource": {"group": "", "version": "v1", "resource": "pods"},
            "name": "web-0", "namespace": "shop", "operation": "CREATE",
            "userInfo": {"username": "alice", "groups": ["dev", "system:authenticated"]},
            "object": pod, "oldObject": null, "dryRun": false,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    })
}

/// Returns a pod of about 4 KB.
fn pod() -> Value {
    let variables: Vec<Value> = (0..16)
        .map(|n| json!({"name": format!("SETTING_{n}"), "value": format!("value-of-setting-{n}")}))
        .collect();
    let container = |n: u32| {
        json!({
            "name": format!("container-{n}"),
            "image": format!("registry.example.com/shop/web-{n}:1.2.3"),
            "env": variables,
            "ports": [{"name": "http", "containerPort": 8080 + n, "protocol": "TCP"}],
            "resources": {"limits": {"cpu": "500m", "memory": "256Mi"}, "requests": {"cpu": "250m", "memory": "128Mi"}},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "token", "mountPath": "/token", "readOnly": true}],
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080 + n}, "periodSeconds": 10},
        })
    };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "web-0", "namespace": "shop",
            "labels": {"app.kubernetes.io/name": "web", "app.kubernetes.io/part-of": "shop"},
            "annotations": {"example.com/revision": "1234567890"},
        },
        "spec": {
            "containers": [container(0), container(1), container(2)],
            "volumes": [{"name": "data", "emptyDir": {}}, {"name": "token", "secret": {"secretName": "token"}}],
            "restartPolicy": "Always", "serviceAccountName": "web", "nodeSelector": {"disk": "ssd"},
        },
    })
}
