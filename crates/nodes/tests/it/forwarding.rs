//! Ports of pods that are forwarded to clients.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    spdy_client::{Frame, fin},
    upgrading::{PORTS, Place, refusal},
};

const REQUEST: &str = "GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n";

/// Returns the start of the error for a port on which nothing listens.
fn is_refused(text: &str) -> bool {
    text.starts_with("error forwarding port 81 to pod ")
        && text.contains("connect: connection refused")
}

#[tokio::test]
async fn ports_are_forwarded_over_websockets() {
    let place = Place::start().await;
    place.run("web", json!({"image": "nginx"})).await;
    let mut forwarder = place.pods.portforward("web", &[80, 81]).await.unwrap();
    let mut connection = forwarder.take_stream(80).unwrap();
    connection.write_all(REQUEST.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("Welcome to nginx!"), "{answer}");
    let error = forwarder.take_error(81).unwrap().await.expect("an error");
    assert!(is_refused(&error), "{error}");
}

#[tokio::test]
async fn ports_are_forwarded_over_spdy() {
    let place = Place::start().await;
    place.run("web", json!({"image": "nginx"})).await;
    let mut spdy = place.spdy("web", "portforward", PORTS).await;
    let headers =
        |kind, port, request| [("streamtype", kind), ("port", port), ("requestid", request)];
    for (id, request) in [(1, "0"), (5, "1")] {
        spdy.stream(id, &headers("error", "80", request)).await;
        spdy.stream(id + 2, &headers("data", "80", request)).await;
        spdy.expect([Frame::Reply(id), Frame::Reply(id + 2)]).await;
        spdy.send(id + 2, REQUEST.as_bytes(), false).await;
        let mut answer = String::new();
        while let Some(Frame::Data { stream, text, fin }) = spdy.frame().await {
            assert_eq!(stream, id + 2);
            answer += &text;
            if fin {
                break;
            }
        }
        assert!(answer.contains("Welcome to nginx!"), "{answer}");
        spdy.send(id + 2, b"", true).await;
        spdy.expect([fin(id)]).await;
    }
    spdy.stream(9, &headers("error", "81", "2")).await;
    spdy.stream(11, &headers("data", "81", "2")).await;
    spdy.expect([Frame::Reply(9), Frame::Reply(11)]).await;
    let Some(Frame::Data {
        stream: 9, text, ..
    }) = spdy.frame().await
    else {
        panic!("no error");
    };
    assert!(is_refused(&text), "{text}");
}

#[tokio::test]
async fn a_connection_ends_with_its_pod() {
    let place = Place::start().await;
    place.run("web", json!({"image": "nginx"})).await;
    let mut forwarder = place.pods.portforward("web", &[80]).await.unwrap();
    let mut connection = forwarder.take_stream(80).unwrap();
    connection.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    let delete = kube::api::DeleteParams::default().grace_period(0);
    place.pods.delete("web", &delete).await.unwrap();
    place.cluster.settled().await.unwrap();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).await.unwrap();
    assert_eq!(answer, b"");
    let (code, text) = refusal(place.request("web", "portforward", PORTS).await).await;
    assert_eq!((code, &*text), (404, "pods \"web\" not found"));
}

#[tokio::test]
async fn the_tester_of_forwarded_ports_sends_chunks_to_its_first_client() {
    let place = Place::start().await;
    let variable = |name: &str, value: &str| json!({"name": name, "value": value});
    let container = json!({
        "image": "registry.k8s.io/e2e-test-images/agnhost:2.63.0", "args": ["port-forward-tester"],
        "env": [
            variable("BIND_PORT", "80"), variable("EXPECTED_CLIENT_DATA", "abc"), variable("CHUNKS", "3"),
            variable("CHUNK_SIZE", "2"), variable("CHUNK_INTERVAL", "1"),
        ],
    });
    place.run("p", container).await;
    let mut forwarder = place.pods.portforward("p", &[80]).await.unwrap();
    let mut connection = forwarder.take_stream(80).unwrap();
    connection.write_all(b"abc").await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "xxxxxx");
    let log = place.pods.logs("p", &Default::default()).await.unwrap();
    let expected =
        "Accepted client connection\nReceived expected client data\nShutting down connection\n";
    assert!(log.starts_with(expected), "{log}");
}

#[tokio::test]
async fn the_web_server_of_tests_lists_its_directories() {
    let place = Place::start().await;
    let image = "registry.k8s.io/e2e-test-images/agnhost:2.63.0";
    place
        .run("p", json!({"image": image, "args": ["test-webserver"]}))
        .await;
    let mut forwarder = place.pods.portforward("p", &[80]).await.unwrap();
    let mut connection = forwarder.take_stream(80).unwrap();
    connection.write_all(REQUEST.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(
        answer.contains("<a href=\"agnhost\">agnhost</a>"),
        "{answer}"
    );
}
