//! Commands of clients in containers.

use kube::api::AttachParams;
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::upgrading::{COMMANDS, Place, all, exit_code, expect, refusal, rest};

const SCRIPT: &str = "read line; echo got $line; echo bad >&2; exit 7";

#[tokio::test]
async fn commands_have_streams_and_an_exit_code_over_websockets() {
    let place = Place::start().await;
    place.run("p", json!({"image": "nginx"})).await;
    let options = AttachParams::default().stdin(true);
    let command = ["sh", "-c", SCRIPT];
    let mut process = place.pods.exec("p", command, &options).await.unwrap();
    let mut stdin = process.stdin().unwrap();
    stdin.write_all(b"some words\n").await.unwrap();
    let (stdout, stderr) = (process.stdout(), process.stderr());
    let (stdout, stderr) = tokio::join!(all(stdout), all(stderr));
    assert_eq!((&*stdout, &*stderr), ("got some words\n", "bad\n"));
    assert_eq!(exit_code(&mut process).await, 7);
}

#[tokio::test]
async fn commands_have_streams_and_an_exit_code_over_spdy() {
    let place = Place::start().await;
    place.run("p", json!({"image": "nginx"})).await;
    let script: String = SCRIPT.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let command = format!("command=sh&command=-c&command={script}");
    let path = format!("exec?stdin=true&stdout=true&stderr=true&{command}");
    let mut spdy = place.spdy("p", &path, COMMANDS).await;
    let streams = [(1, "error"), (3, "stdin"), (5, "stdout"), (7, "stderr")];
    for (id, kind) in streams {
        spdy.stream(id, &[("streamtype", kind)]).await;
    }
    spdy.send(3, b"some words\n", true).await;
    let texts = rest(&mut spdy).await;
    assert_eq!(texts[&5], "got some words\n");
    assert_eq!(texts[&7], "bad\n");
    let status: serde_json::Value = serde_json::from_str(&texts[&1]).unwrap();
    assert_eq!(status["reason"], "NonZeroExitCode");
    let code = json!([{"reason": "ExitCode", "message": "7"}]);
    assert_eq!(status["details"]["causes"], code);
}

#[tokio::test]
async fn the_end_of_input_is_seen_by_the_command() {
    let place = Place::start().await;
    place.run("p", json!({"image": "nginx"})).await;
    let options = AttachParams::default().stdin(true).stderr(false);
    let mut process = place.pods.exec("p", ["cat"], &options).await.unwrap();
    let (mut stdin, stdout) = (process.stdin().unwrap(), process.stdout());
    let sent = "0123456789abcdef".repeat(1 << 14);
    let sending = async {
        stdin.write_all(sent.as_bytes()).await.unwrap();
        stdin.shutdown().await.unwrap();
    };
    let ((), received) = tokio::join!(sending, all(stdout));
    assert_eq!(received.len(), sent.len());
    assert!(received == sent);
    assert_eq!(exit_code(&mut process).await, 0);
}

#[tokio::test]
async fn a_terminal_echoes_and_has_no_standard_error() {
    let place = Place::start().await;
    place.run("p", json!({"image": "nginx"})).await;
    let options = AttachParams::interactive_tty();
    let mut process = place.pods.exec("p", ["sh"], &options).await.unwrap();
    let (mut stdin, mut stdout) = (process.stdin().unwrap(), process.stdout().unwrap());
    stdin.write_all(b"echo one; echo two >&2\r").await.unwrap();
    expect(&mut stdout, "echo one; echo two >&2\r\none\r\ntwo\r\n").await;
    stdin.write_all(b"exit 4\r").await.unwrap();
    assert_eq!(exit_code(&mut process).await, 4);
}

#[tokio::test]
async fn a_command_is_killed_with_its_container() {
    let place = Place::start().await;
    place.run("p", json!({"image": "nginx"})).await;
    let options = AttachParams::default().stderr(false);
    let command = ["sh", "-c", "echo waiting; sleep infinity"];
    let mut process = place.pods.exec("p", command, &options).await.unwrap();
    let mut stdout = process.stdout().unwrap();
    expect(&mut stdout, "waiting\n").await;
    let container = place.nodes().container("default", "p", "c");
    container.exit(1).await.unwrap();
    assert_eq!(exit_code(&mut process).await, 137);
}

#[tokio::test]
async fn containers_that_do_not_run_and_missing_programs_have_the_errors_of_a_kubelet() {
    let place = Place::start().await;
    place
        .run(
            "p",
            json!({"image": "nginx", "command": ["sleep", "infinity"]}),
        )
        .await;
    let options = AttachParams::default();
    let mut process = place.pods.exec("p", ["nonsense"], &options).await.unwrap();
    let status = process.take_status().unwrap().await.expect("a status");
    let text = "executable file not found in $PATH";
    assert!(status.message.unwrap().contains(text));
    let response = place.request("p", "exec?command=true", COMMANDS).await;
    let text = "you must specify at least 1 of stdin, stdout, stderr";
    assert_eq!(refusal(response).await.1, text);
    place
        .nodes()
        .container("default", "p", "c")
        .exit(0)
        .await
        .unwrap();
    place.until("p", "Succeeded").await;
    let path = "exec?stdout=true&command=true";
    let missing = (500, "container not found (\"c\")".to_owned());
    assert_eq!(
        refusal(place.request("p", path, COMMANDS).await).await,
        missing
    );
    let path = "exec?stdout=true&command=true&container=x";
    let unknown = (400, "container x is not valid for pod p".to_owned());
    assert_eq!(
        refusal(place.request("p", path, COMMANDS).await).await,
        unknown
    );
}

#[tokio::test]
async fn a_silent_node_runs_no_commands() {
    let place = Place::start().await;
    place.run("p", json!({"image": "nginx"})).await;
    place.nodes().node("node-1").go_silent().await;
    let path = "exec?stdout=true&command=true";
    let (code, text) = refusal(place.request("p", path, COMMANDS).await).await;
    assert_eq!(code, 500);
    assert!(text.starts_with("error dialing backend: "), "{text}");
}
