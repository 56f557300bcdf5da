//! Retried requests: which ones, how often and when.

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use http_body_util::Full;
use parking_lot::Mutex;
use tokio::time::Instant;
use tower::service_fn;

use super::*;

/// The responses of a server, in turn; the last one forever.
#[derive(Clone)]
enum Reply {
    Code(u16, Option<&'static str>),
    Break(io::ErrorKind),
}
use Reply::{Break, Code};

/// Sends a request to a server with these replies: what came of it, how many attempts it took, how many seconds.
async fn send(request: Request<Body>, replies: &[Reply]) -> (Result<u16, String>, usize, u64) {
    let script = Arc::new(Mutex::new(VecDeque::from(replies.to_vec())));
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let server = service_fn(move |_: Request<Body>| {
        counted.fetch_add(1, Ordering::Relaxed);
        let mut script = script.lock();
        let reply = match script.len() {
            1 => script[0].clone(),
            _ => script.pop_front().unwrap(),
        };
        std::future::ready(match reply {
            Code(code, retry_after) => {
                let mut response = Response::builder().status(code);
                if let Some(seconds) = retry_after {
                    response = response.header(header::RETRY_AFTER, seconds);
                }
                Ok(response
                    .body(Full::new(Bytes::from_static(b"later")))
                    .unwrap())
            }
            Break(kind) => Err(BoxError::from(io::Error::from(kind))),
        })
    });
    let began = Instant::now();
    let result = RetryLayer::default().layer(server).oneshot(request).await;
    let result = result
        .map(|response| response.status().as_u16())
        .map_err(|error| error.to_string());
    (
        result,
        count.load(Ordering::Relaxed),
        began.elapsed().as_secs(),
    )
}

fn request(method: Method, uri: &str) -> Request<Body> {
    Request::builder()
        .method(method)
        .uri(uri)
        .body(Body::from(b"{}".to_vec()))
        .unwrap()
}

fn get() -> Request<Body> {
    request(Method::GET, "/api/v1/pods")
}

#[tokio::test(start_paused = true)]
async fn any_verb_is_tried_again_when_the_server_says_when() {
    for method in [
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
    ] {
        for code in [429, 500, 503, 504] {
            let replies = [
                Code(code, Some("2")),
                Code(code, Some("5")),
                Code(200, None),
            ];
            let sent = send(request(method.clone(), "/api/v1/pods"), &replies).await;
            assert_eq!(sent, (Ok(200), 3, 7), "{method} {code}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_number_of_seconds_there_is_no_retry() {
    for reply in [
        Code(429, None),
        Code(503, Some("soon")),
        Code(500, Some("-1")),
        Code(500, Some("1.5")),
        Code(409, Some("1")),
        Code(404, Some("1")),
        Code(302, Some("1")),
    ] {
        let (result, attempts, seconds) = send(get(), &[reply, Code(200, None)]).await;
        assert_ne!(result, Ok(200));
        assert_eq!((attempts, seconds), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn after_ten_retries_the_answer_stands() {
    assert_eq!(
        send(get(), &[Code(429, Some("1"))]).await,
        (Ok(429), 11, 10)
    );
    let mut few = get();
    few.extensions_mut().insert(MaxRetries(2));
    assert_eq!(send(few, &[Code(429, Some("1"))]).await, (Ok(429), 3, 2));
}

#[tokio::test(start_paused = true)]
async fn only_a_read_survives_a_broken_connection() {
    let replies = [Break(io::ErrorKind::ConnectionReset), Code(200, None)];
    assert_eq!(send(get(), &replies).await, (Ok(200), 2, 1));
    let (result, attempts, _) = send(request(Method::POST, "/api/v1/pods"), &replies).await;
    assert!(result.is_err());
    assert_eq!(attempts, 1);
    let mut streamed = get();
    streamed.extensions_mut().insert(StreamedResponse);
    assert_eq!(send(streamed, &replies).await.1, 1);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_tried_again_for_watches_only() {
    let replies = [Break(io::ErrorKind::TimedOut), Code(200, None)];
    assert_eq!(send(get(), &replies).await.1, 1);
    let watch = request(Method::GET, "/api/v1/pods?watch=true");
    assert_eq!(send(watch, &replies).await, (Ok(200), 2, 1));
    let refused = [Break(io::ErrorKind::ConnectionRefused), Code(200, None)];
    assert_eq!(send(get(), &refused).await.1, 1);
}

#[tokio::test(start_paused = true)]
async fn the_last_error_names_the_one_before() {
    let replies = [
        Break(io::ErrorKind::ConnectionReset),
        Break(io::ErrorKind::ConnectionRefused),
    ];
    let (result, attempts, _) = send(get(), &replies).await;
    assert_eq!(
        (result.unwrap_err().as_str(), attempts),
        (
            "connection refused - error from a previous attempt: connection reset",
            2
        )
    );
    // The same error is mentioned once.
    let (result, ..) = send(get(), &[Break(io::ErrorKind::ConnectionReset)]).await;
    assert_eq!(result.unwrap_err(), "connection reset");
}
