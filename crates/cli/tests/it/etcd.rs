//! `kubewright up --etcd-servers`: replicas of one etcd, a kube-apiserver beside them, and refusals.
//!
//! `KUBEWRIGHT_ETCD` and `KUBEWRIGHT_KUBE_APISERVER` name the programs; what is not there is skipped.

use serde_json::{Value, json};

use crate::{
    https::{self, Peer},
    kubernetes::{KubeApiServer, etcd, free_port, program, wait},
    server::{Folder, Server, kubewright},
};

pub(crate) fn up(url: &str, more: &[&str]) -> Server {
    let own = ["--controllers", "none", "--etcd-servers", url];
    Server::start_with(&[&own, more].concat())
}

pub(crate) fn get(server: &Server, path: &str) -> (u16, Value) {
    let token = server.kubeconfig_value("token");
    let (code, body) = https::get(server, path, Some(&token));
    (code, serde_json::from_str(&body).unwrap_or_default())
}

pub(crate) fn post(server: &Server, path: &str, object: &Value) -> (u16, Value) {
    let answer = Peer::of(server).post(path, &object.to_string());
    let (code, body) = answer.expect("an answer");
    (code, serde_json::from_str(&body).unwrap_or_default())
}

pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(crate) const STARS: &str = "/apis/sky.example.com/v1/namespaces/default/stars";
pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

pub(crate) fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}})
}

pub(crate) fn stars() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "stars.sky.example.com"},
        "spec": {
            "group": "sky.example.com",
            "names": {"plural": "stars", "singular": "star", "kind": "Star"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
                }},
            }],
        },
    })
}

pub(crate) fn star(name: &str) -> Value {
    json!({"apiVersion": "sky.example.com/v1", "kind": "Star", "metadata": {"name": name}, "spec": {"size": 7}})
}

#[test]
fn replicas_of_one_etcd_serve_the_same() {
    let folder = Folder::new();
    let Some((_etcd, url)) = etcd(folder.path(), "replicas_of_one_etcd_serve_the_same") else {
        return;
    };
    let keys = folder.path().join("keys").display().to_string();
    let one = up(&url, &["--keys-dir", &keys]);
    let media = "application/vnd.kubernetes.protobuf";
    let other = up(&url, &["--keys-dir", &keys, "--storage-media-type", media]);
    // Whoever writes, the other reads at once.
    for n in 0..20 {
        let (writer, reader) = match n % 2 {
            0 => (&one, &other),
            _ => (&other, &one),
        };
        let name = format!("m-{n}");
        let (code, written) = post(writer, MAPS, &map(&name));
        assert_eq!(code, 201, "{written}");
        let (code, read) = get(reader, &format!("{MAPS}/{name}"));
        assert_eq!((code, &read), (200, &written));
    }
    // A kind that one learns of is served by the other, a little later.
    let (code, crd) = post(&one, CRDS, &stars());
    assert_eq!(code, 201, "{crd}");
    wait("the kind of another server", || get(&other, STARS).0 == 200);
    let (code, written) = post(&other, STARS, &star("sun"));
    assert_eq!(code, 201, "{written}");
    assert_eq!(get(&one, &format!("{STARS}/sun")).1, written);
    // A restart loses nothing.
    let list = get(&one, MAPS).1["items"].clone();
    one.signal("TERM");
    let again = up(&url, &["--keys-dir", &keys]);
    assert_eq!(get(&again, MAPS).1["items"], list);
    assert_eq!(get(&again, &format!("{STARS}/sun")).1, written);
}

#[test]
fn objects_written_by_kube_apiserver_are_served_and_vice_versa() {
    let test = "objects_written_by_kube_apiserver_are_served_and_vice_versa";
    let kube = "KUBEWRIGHT_KUBE_APISERVER";
    let Some(program) = program(kube, "kube-apiserver", test) else {
        return;
    };
    let folder = Folder::new();
    let Some((_etcd, url)) = etcd(folder.path(), test) else {
        return;
    };
    let kube = KubeApiServer::start(&program, folder.path(), &url, &[]);
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let deployment = |name: &str| {
        let labels = json!({"app": name});
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}},
            },
        })
    };
    // kube-apiserver stores it in an older version.
    let policies = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies";
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": "theirs"},
        "spec": {
            "failurePolicy": "Ignore", "reinvocationPolicy": "Never",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["none"],
            }]},
            "mutations": [{
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {"expression": "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"},
            }],
        },
    });
    let theirs: Vec<(String, Value)> = [
        (MAPS, map("theirs")),
        (deployments, deployment("theirs")),
        (policies, policy),
        (CRDS, stars()),
    ]
    .into_iter()
    .map(|(path, object)| kube.post(path, &object))
    .collect();
    wait("the kind", || kube.get(STARS)["kind"] == "StarList");
    let (sun, _) = kube.post(STARS, &star("sun"));

    // A running kube-apiserver is noticed.
    let refused = kubewright()
        .args(["up", "--listen", "127.0.0.1:0", "--etcd-servers", &url])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success());
    assert!(
        text.contains("another API server uses the prefix"),
        "{text}"
    );

    let ours = up(&url, &["--etcd-share-prefix"]);
    for path in theirs.iter().map(|(path, _)| path).chain([&sun]) {
        let (code, served) = get(&ours, path);
        assert_eq!((code, &served), (200, &kube.get(path)), "{path}");
    }
    for (path, object) in [
        (MAPS, map("ours")),
        (deployments, deployment("ours")),
        (STARS, star("ours")),
    ] {
        let (code, written) = post(&ours, path, &object);
        assert_eq!(code, 201, "{written}");
        let path = format!("{path}/ours");
        wait("what was written", || {
            kube.get(&path)["metadata"]["name"] == "ours"
        });
        assert_eq!(kube.get(&path), written, "{path}");
    }
    // A fork has the same objects, and etcd does not get what is written to it.
    let fork = up(&url, &["--from-etcd"]);
    for (path, _) in &theirs {
        assert_eq!(get(&fork, path).1, kube.get(path), "{path}");
    }
    assert_eq!(get(&fork, &sun).1, kube.get(&sun));
    assert_eq!(post(&fork, MAPS, &map("forked")).0, 201);
    assert_eq!(kube.get(&format!("{MAPS}/forked"))["code"], 404);
    // Lists of built-in kinds agree, whatever is in them.
    for path in [
        "/api/v1/namespaces",
        "/api/v1/services",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    ] {
        let (code, served) = get(&ours, path);
        assert_eq!(code, 200, "{path}");
        assert_eq!(served["items"], kube.get(path)["items"], "{path}");
    }
}

#[test]
fn an_etcd_that_cannot_be_used_is_refused_in_one_sentence() {
    let folder = Folder::new();
    let closed = format!("http://127.0.0.1:{}", free_port());
    let missing = folder.path().join("ca.crt").display().to_string();
    let cases: [(&[&str], &str); 6] = [
        (
            &["--etcd-servers", "127.0.0.1:2379"],
            "is not the URL of an etcd member",
        ),
        (
            &["--etcd-servers", &closed],
            "no etcd member can be reached",
        ),
        (
            &["--etcd-servers", "https://127.0.0.1:2379"],
            "needs the certificate authority",
        ),
        (
            &[
                "--etcd-servers",
                "https://127.0.0.1:2379",
                "--etcd-cafile",
                &missing,
            ],
            "cannot use",
        ),
        (
            &["--etcd-servers", &closed, "--etcd-prefix", "registry"],
            "is not a prefix of keys",
        ),
        (
            &["--etcd-servers", &closed, "--data-dir", "x"],
            "cannot be used with",
        ),
    ];
    for (flags, expected) in cases {
        let refused = kubewright()
            .current_dir(folder.path())
            .env("RUST_BACKTRACE", "0")
            .args(["up", "--listen", "127.0.0.1:0"])
            .args(flags)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success(), "{flags:?}");
        assert!(text.contains(expected), "{flags:?}: {text}");
        assert!(!folder.path().join("kubeconfig").exists());
    }
}
