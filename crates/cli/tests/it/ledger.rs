//! `history`, `blame`, `requests` and `why` on a server with a ledger, and without.

use std::{path::Path, process::Output};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Config,
    api::{Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};

use crate::server::{Server, kubewright};

/// Creates a ConfigMap as `one`, changes it as `two`, and makes a request that is refused.
async fn write(kubeconfig: &Path) {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let client = Client::try_from(config.unwrap()).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let sky: ConfigMap = serde_json::from_value(json!({
        "metadata": {"name": "sky"}, "data": {"colour": "blue"},
    }))
    .unwrap();
    let params = PostParams {
        field_manager: Some("one".into()),
        ..PostParams::default()
    };
    maps.create(&params, &sky).await.unwrap();
    let params = PatchParams {
        field_manager: Some("two".into()),
        ..PatchParams::default()
    };
    let patch = Patch::Merge(json!({"data": {"colour": "red"}}));
    maps.patch("sky", &params, &patch).await.unwrap();
    assert!(maps.create(&PostParams::default(), &sky).await.is_err());
}

fn tool(server: &Server, arguments: &[&str]) -> Output {
    let mut command = kubewright();
    command
        .args(arguments)
        .arg("--kubeconfig")
        .arg(server.kubeconfig());
    command.output().expect("the tool runs")
}

#[track_caller]
fn prints(server: &Server, arguments: &[&str], expected: &[&str]) -> String {
    let output = tool(server, arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    for expected in expected {
        assert!(text.contains(expected), "no {expected:?} in:\n{text}");
    }
    text
}

#[test]
fn the_writers_of_objects_are_shown() {
    let server = Server::start();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(write(&server.kubeconfig()));
    let sky = "configmap/sky";
    prints(
        &server,
        &["history", sky],
        &[
            " by one: created\n",
            " by two: data.colour",
            "    ~ data.colour: \"blue\" -> \"red\"\n",
        ],
    );
    prints(
        &server,
        &["history", sky, "--field", "data.size"],
        &[" by one: created\n"],
    );
    prints(
        &server,
        &["history", sky, "-o", "patch"],
        &["\"colour\": \"red\""],
    );
    let json = prints(&server, &["history", sky, "-o", "json"], &[]);
    let answer: Value = serde_json::from_str(&json).unwrap();
    let first = answer["items"][0]["revision"].to_string();
    prints(
        &server,
        &["history", sky, "--at", &first],
        &["\"colour\": \"blue\""],
    );
    let blame = prints(&server, &["blame", sky], &[]);
    let line = blame
        .lines()
        .find(|line| line.ends_with("|   colour: red"))
        .unwrap();
    assert!(line.starts_with("two "), "{line}");
    prints(
        &server,
        &["blame", sky, "--at", &first],
        &["|   colour: blue\n"],
    );
    prints(
        &server,
        &["requests", "--by", "two"],
        &["patch configmaps default/sky by two\n"],
    );
    prints(
        &server,
        &["requests", "--denied"],
        &["was refused: 409 configmaps \"sky\" already exists"],
    );
    prints(
        &server,
        &["why", sky],
        &["HISTORY\n", " by two: data.colour"],
    );
    prints(
        &server,
        &["why", sky, "--field", "data.colour"],
        &["OWNERS\n  data.colour  two (Update)", "\"blue\" -> \"red\""],
    );
    let why: Value =
        serde_json::from_str(&prints(&server, &["why", sky, "-o", "json"], &[])).unwrap();
    assert_eq!(why["ledger"]["items"][0]["type"], "change");
    let missing = tool(&server, &["history", "configmap/moon"]);
    let error = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(error.contains("\"moon\" not found"), "{error}");
}

#[test]
fn a_server_without_a_ledger_says_so() {
    let server = Server::start_with(&["--controllers", "none", "--no-ledger"]);
    let output = tool(&server, &["requests"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(error.contains("this cluster has no ledger"), "{error}");
    prints(&server, &["why", "namespace/default"], &["CONTROLLERS\n"]);
}
