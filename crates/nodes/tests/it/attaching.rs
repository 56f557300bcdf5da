//! Clients that attach to the streams of a container.

use kube::api::AttachParams;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::{
    spdy_client::{Frame, data},
    upgrading::{COMMANDS, Place, all, exit_code, expect, refusal, rest},
};

/// Repeats its input, and exits with 5 after `stop`.
fn echoes(is_once: bool) -> Value {
    let text =
        "while read line; do echo got $line; if [ $line = stop ]; then exit 5; fi; done; echo end";
    let command = json!(["sh", "-c", text]);
    json!({"image": "busybox", "command": command, "stdin": true, "stdinOnce": is_once})
}

#[tokio::test]
async fn output_follows_input_until_the_container_ends() {
    let place = Place::start().await;
    place.run("p", echoes(false)).await;
    let options = AttachParams::default().stdin(true).stderr(false);
    let mut process = place.pods.attach("p", &options).await.unwrap();
    let (mut stdin, mut stdout) = (process.stdin().unwrap(), process.stdout().unwrap());
    // A second client that only reads.
    let reads = AttachParams::default().stderr(false);
    let mut second = place.pods.attach("p", &reads).await.unwrap();
    stdin.write_all(b"one\n").await.unwrap();
    expect(&mut stdout, "got one\n").await;
    stdin.write_all(b"stop\n").await.unwrap();
    assert_eq!(all(Some(stdout)).await, "got stop\n");
    let stdout = second.stdout();
    assert_eq!(all(stdout).await, "got one\ngot stop\n");
    // The exit code of the container is in its status, not in that of the stream.
    assert_eq!(exit_code(&mut process).await, 0);
    place.until("p", "Failed").await;
}

#[tokio::test]
async fn a_client_whose_input_ends_is_detached() {
    let place = Place::start().await;
    place.run("p", echoes(false)).await;
    let options = AttachParams::default().stdin(true).stderr(false);
    for word in ["one", "two"] {
        let mut process = place.pods.attach("p", &options).await.unwrap();
        let (mut stdin, mut stdout) = (process.stdin().unwrap(), process.stdout().unwrap());
        stdin
            .write_all(format!("{word}\n").as_bytes())
            .await
            .unwrap();
        expect(&mut stdout, &format!("got {word}\n")).await;
        stdin.shutdown().await.unwrap();
        assert_eq!(all(Some(stdout)).await, "");
        assert_eq!(exit_code(&mut process).await, 0);
    }
    place.until("p", "Running").await;
}

#[tokio::test]
async fn input_that_is_taken_once_ends_with_its_first_client() {
    let place = Place::start().await;
    place.run("p", echoes(true)).await;
    let options = AttachParams::default().stdin(true).stderr(false);
    let mut process = place.pods.attach("p", &options).await.unwrap();
    let (mut stdin, stdout) = (process.stdin().unwrap(), process.stdout());
    stdin.write_all(b"one\n").await.unwrap();
    stdin.shutdown().await.unwrap();
    assert_eq!(all(stdout).await, "got one\nend\n");
    place.until("p", "Succeeded").await;
}

#[tokio::test]
async fn clients_attach_over_spdy() {
    let place = Place::start().await;
    place.run("p", echoes(false)).await;
    let path = "attach?stdin=true&stdout=true&container=c";
    let mut spdy = place.spdy("p", path, COMMANDS).await;
    for (id, kind) in [(1, "error"), (3, "stdin"), (5, "stdout")] {
        spdy.stream(id, &[("streamtype", kind)]).await;
    }
    spdy.send(3, b"one\n", false).await;
    spdy.expect([Frame::Reply(1), Frame::Reply(3), Frame::Reply(5)])
        .await;
    spdy.expect([data(5, "got one\n")]).await;
    spdy.send(3, b"stop\n", false).await;
    let texts = rest(&mut spdy).await;
    assert_eq!(texts[&5], "got stop\n");
    assert_eq!(texts[&1], r#"{"metadata":{},"status":"Success"}"#);
    place.until("p", "Failed").await;
    let missing = (500, "container not found (\"c\")".to_owned());
    assert_eq!(
        refusal(place.request("p", path, COMMANDS).await).await,
        missing
    );
}

#[tokio::test]
async fn debug_containers_can_be_attached_to() {
    let place = Place::start().await;
    place.run("p", json!({"image": "nginx"})).await;
    let text = "while read line; do hostname; wget -qO- localhost | head -n 1; exit 3; done";
    let debugger =
        json!({"name": "d", "image": "busybox", "command": ["sh", "-c", text], "stdin": true});
    let patch = json!({"spec": {"ephemeralContainers": [debugger]}});
    let patch = kube::api::Patch::Strategic(patch);
    let params = Default::default();
    let patched = place.pods.patch_ephemeral_containers("p", &params, &patch);
    patched.await.unwrap();
    place.cluster.settled().await.unwrap();
    let options = AttachParams::default()
        .stdin(true)
        .stderr(false)
        .container("d");
    let mut process = place.pods.attach("p", &options).await.unwrap();
    let (mut stdin, stdout) = (process.stdin().unwrap(), process.stdout());
    stdin.write_all(b"go\n").await.unwrap();
    assert_eq!(all(stdout).await, "p\n<!DOCTYPE html>\n");
    place.cluster.settled().await.unwrap();
    let status = place.pods.get("p").await.unwrap().status.unwrap();
    assert_eq!(status.phase.as_deref(), Some("Running"));
    let debugger = &status.ephemeral_container_statuses.unwrap()[0];
    let ended = debugger
        .state
        .as_ref()
        .unwrap()
        .terminated
        .as_ref()
        .unwrap();
    assert_eq!((ended.exit_code, debugger.restart_count), (3, 0));
}
