//! Checks the page on kubeconfig files. If one of these tests fails, kube has changed and the page has to change too.

use std::{fs, path::PathBuf};

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_client::{ClientOptions, RestClient};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

fn kubeconfig(user: &Value) -> Kubeconfig {
    serde_json::from_value(json!({
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }))
    .unwrap()
}

async fn config(user: &Value) -> Config {
    let options = KubeConfigOptions::default();
    Config::from_custom_kubeconfig(kubeconfig(user), &options)
        .await
        .unwrap()
}

/// A client of this user, or why there is none.
async fn client(user: &Value) -> Result<Client, String> {
    ClientOptions::new()
        .connect(config(user).await)
        .map_err(|error| error.to_string())
}

/// The header lines that a server gets from this user.
async fn sent_by(user: &Value) -> Vec<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let mut config = config(user).await;
    config.cluster_url = format!("http://{}", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    let rest = RestClient::new(ClientOptions::new().connect(config).unwrap());
    let asked = tokio::spawn(async move { rest.get().abs_path("/version").send().await });
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut request = vec![0; 8192];
    let length = stream.read(&mut request).await.unwrap();
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    stream.write_all(answer.as_bytes()).await.unwrap();
    asked.await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&request[..length]).into_owned();
    text.lines().map(str::to_owned).collect()
}

fn file(name: &str, content: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("kubewright-{name}-{}", std::process::id()));
    fs::write(&path, content).unwrap();
    path
}

#[test]
fn a_missing_file_is_an_error_and_an_empty_one_is_not() {
    assert!(Kubeconfig::read_from("/nowhere/at/all").is_err());
    let empty = file("empty", "");
    assert!(Kubeconfig::read_from(&empty).unwrap().contexts.is_empty());
    fs::remove_file(empty).unwrap();
}

#[test]
fn the_first_file_wins_whole_entries_at_a_time() {
    let first = kubeconfig(&json!({"token": "one"}));
    let second = kubeconfig(&json!({"username": "two"}));
    let merged = serde_json::to_value(first.merge(second).unwrap()).unwrap();
    assert_eq!(
        merged["users"],
        json!([{"name": "u", "user": {"token": "one"}}])
    );
}

#[test]
fn duplicate_names_are_not_an_error() {
    let twice = "users: [{name: u, user: {token: one}}, {name: u, user: {token: two}}]";
    assert!(Kubeconfig::from_yaml(twice).is_ok());
}

#[tokio::test]
async fn a_missing_user_has_no_credentials() {
    let options = KubeConfigOptions {
        user: Some("nobody".into()),
        ..KubeConfigOptions::default()
    };
    let user = json!({"token": "one"});
    let config = Config::from_custom_kubeconfig(kubeconfig(&user), &options)
        .await
        .unwrap();
    assert!(config.auth_info.token.is_none());
}

#[tokio::test]
async fn credentials_go_to_any_server_and_the_password_wins() {
    let sent = sent_by(&json!({"token": "one", "username": "me", "password": "pw"})).await;
    assert!(
        sent.contains(&"authorization: Basic bWU6cHc=".to_owned()),
        "{sent:?}"
    );
    let sent = sent_by(&json!({"token": "one", "as-groups": ["g"]})).await;
    assert!(
        sent.contains(&"authorization: Bearer one".to_owned()),
        "{sent:?}"
    );
    assert!(
        sent.contains(&"impersonate-group: g".to_owned()),
        "{sent:?}"
    );
}

#[tokio::test]
async fn a_line_break_in_a_token_file_is_part_of_the_token() {
    let path = file("token", "one\n");
    let rest = RestClient::new(client(&json!({"tokenFile": path})).await.unwrap());
    let error = rest.get().abs_path("/version").send().await.unwrap_err();
    assert!(error.to_string().contains("bearer token"), "{error}");
    fs::remove_file(path).unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn a_plugin_may_leave_out_its_version_and_answer_in_another() {
    let answer =
        r#"{"kind": "ExecCredential", "apiVersion": "odd/v9", "status": {"token": "two"}}"#;
    let sent = sent_by(&json!({"exec": {"command": "echo", "args": [answer]}})).await;
    assert!(
        sent.contains(&"authorization: Bearer two".to_owned()),
        "{sent:?}"
    );
    assert!(
        client(&json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}))
            .await
            .is_err()
    );
}
