//! Values that a real kube-apiserver has encrypted: read from its etcd, from a file of it, and written beside it.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::{
    etcd::{CRDS, MAPS, STARS, get, map, post, star, stars, up},
    kubernetes::{KubeApiServer, etcd, program, wait},
    server::{Folder, Server, kubewright},
};

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

/// Each provider for a kind of its own; keys of all lengths; an old key that is only read with.
const CONFIGURATION: &str = "apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - aescbc:
      keys:
      - {name: new, secret: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=}
      - {name: old, secret: AAECAwQFBgcICQoLDA0ODw==}
  - identity: {}
- resources: [configmaps]
  providers:
  - aesgcm: {keys: [{name: gcm, secret: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=}]}
  - identity: {}
- resources: [stars.sky.example.com]
  providers:
  - aesgcm: {keys: [{name: short, secret: AAECAwQFBgcICQoLDA0ODw==}]}
- resources: ['*.']
  providers:
  - secretbox: {keys: [{name: box, secret: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=}]}
  - identity: {}
";

fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {"word": "cGFzcw=="}})
}

fn account(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
}

/// Checks that a server has the same objects as kube-apiserver.
fn assert_same(ours: &Server, kube: &KubeApiServer, paths: &[String]) {
    for path in paths {
        let (code, served) = get(ours, path);
        assert_eq!((code, &served), (200, &kube.get(path)), "{path}");
    }
}

/// Returns the bytes of an etcd's database.
fn database(folder: &Path) -> Vec<u8> {
    fs::read(folder.join("etcd/member/snap/db")).unwrap()
}

fn contains(bytes: &[u8], part: &str) -> bool {
    bytes
        .windows(part.len())
        .any(|window| window == part.as_bytes())
}

#[test]
fn values_encrypted_by_kube_apiserver_are_read_and_vice_versa() {
    let test = "values_encrypted_by_kube_apiserver_are_read_and_vice_versa";
    let Some(program) = program("KUBEWRIGHT_KUBE_APISERVER", "kube-apiserver", test) else {
        return;
    };
    let folder = Folder::new();
    let Some((etcd, url)) = etcd(folder.path(), test) else {
        return;
    };
    let file = folder.path().join("encryption.yaml");
    fs::write(&file, CONFIGURATION).unwrap();
    let file = file.display().to_string();
    let flags = [
        "--encryption-provider-config",
        &file,
        // The other form of values.
        "--storage-media-type",
        "application/json",
    ];
    let kube = KubeApiServer::start(&program, folder.path(), &url, &flags);
    kube.post(CRDS, &stars());
    wait("the kind", || kube.get(STARS)["kind"] == "StarList");
    let paths: Vec<String> = [
        (SECRETS, secret("theirs")),
        (MAPS, map("theirs")),
        (ACCOUNTS, account("theirs")),
        (STARS, star("theirs")),
    ]
    .into_iter()
    .map(|(path, object)| kube.post(path, &object).0)
    .collect();

    let share = ["--etcd-share-prefix", "--encryption-provider-config", &file];
    let ours = up(&url, &share);
    assert_same(&ours, &kube, &paths);
    let mut all = paths.clone();
    for (path, object) in [
        (SECRETS, secret("ours")),
        (MAPS, map("ours")),
        (ACCOUNTS, account("ours")),
        (STARS, star("ours")),
    ] {
        let (code, written) = post(&ours, path, &object);
        assert_eq!(code, 201, "{written}");
        let path = format!("{path}/ours");
        wait("what was written", || kube.get(&path) == written);
        all.push(path);
    }
    // A fork has everything that was encrypted, by whomever.
    let fork = up(
        &url,
        &["--from-etcd", "--encryption-provider-config", &file],
    );
    assert_same(&fork, &kube, &all);
    let expected: Vec<Value> = all.iter().map(|path| kube.get(path)).collect();

    // Without the keys, it is left out, and counted.
    let forked = kubewright_cluster::Etcd::new([url.clone()]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let forked = runtime.unwrap().block_on(forked.fork()).unwrap();
    assert!(forked.unreadable.len() >= 8, "{:?}", forked.unreadable);
    let is_named = |why: &String| why.contains("it is encrypted by the provider");
    assert!(
        forked.unreadable.iter().all(is_named),
        "{:?}",
        forked.unreadable
    );

    drop((ours, fork, kube));
    etcd.stop();
    let bytes = database(folder.path());
    for head in [
        "aescbc:v1:new",
        "aesgcm:v1:gcm",
        "aesgcm:v1:short",
        "secretbox:v1:box",
    ] {
        assert!(contains(&bytes, &format!("k8s:enc:{head}:")), "{head}");
    }
    assert!(!contains(&bytes, "cGFzcw=="));
    let snapshot = folder.path().join("snapshot.db");
    fs::write(&snapshot, &bytes).unwrap();
    let snapshot = snapshot.display().to_string();
    let restored = Server::start_with(&[
        "--controllers",
        "none",
        "--from-snapshot",
        &snapshot,
        "--encryption-provider-config",
        &file,
    ]);
    for (path, expected) in all.iter().zip(&expected) {
        assert_eq!(get(&restored, path), (200, expected.clone()), "{path}");
    }
}

#[test]
fn an_encryption_configuration_that_cannot_be_used_is_one_sentence() {
    let folder = Folder::new();
    let file = folder.path().join("encryption.yaml");
    let snapshot = ["--from-snapshot", "missing.db"];
    for (text, more, expected) in [
        (
            "kind: Policy\n",
            &snapshot[..],
            "invalid encryption configuration",
        ),
        (
            "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers: [{aescbc: {keys: [{name: k, secret: c2VjcmV0}]}}]\n",
            &snapshot[..],
            "has 6 bytes instead of 16, 24 or 32",
        ),
        (CONFIGURATION, &[], "needs an etcd or a snapshot"),
    ] {
        fs::write(&file, text).unwrap();
        let refused = kubewright()
            .current_dir(folder.path())
            .args([
                "up",
                "--listen",
                "127.0.0.1:0",
                "--encryption-provider-config",
            ])
            .arg(&file)
            .args(more)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success());
        assert!(said.contains(expected), "{said}");
        assert!(!said.contains("c2VjcmV0"), "{said}");
    }
}
