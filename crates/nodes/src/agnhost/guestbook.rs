//! `guestbook`: keys and values on a primary, which passes them on to its replicas.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{
    flags::Flags,
    http::{get, json as answer, query, serve, text},
};
use crate::image::{Container, HttpBody};

/// The pause between attempts to register.
const PAUSE: Duration = Duration::from_secs(1);

/// The number of attempts to register.
const MOST_ATTEMPTS: u32 = 60;

/// The number of replicas and of keys that are kept.
const MOST: usize = 1000;

/// The state of one server.
#[derive(Default)]
struct Book {
    data: BTreeMap<String, Value>,
    replicas: Vec<String>,
}

type Shared = Arc<Mutex<Book>>;

pub(super) async fn run(container: &Container, flags: &Flags<'_>) -> i32 {
    let book = Shared::default();
    let backend = flags.port("backend-port", 6379);
    let (own, shared) = (container.clone(), book.clone());
    let handler = move |request: Request<HttpBody>| {
        let (container, book) = (own.clone(), shared.clone());
        async move { handle(&container, &book, backend, &request).await }
    };
    let served = serve(container, flags.port("http-port", 80), handler);
    let registered = async {
        let is_registered = match flags.get("replicaof").filter(|host| !host.is_empty()) {
            Some(primary) => register(container, &book, (primary, backend)).await,
            None => true,
        };
        if is_registered {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        code = served => code,
        () = registered => {
            container.log("Timed out while registering to primary.");
            1
        }
    }
}

/// Registers with the primary, and takes over its data.
async fn register(container: &Container, book: &Shared, primary: (&str, u16)) -> bool {
    let path = format!("/register?host={}", container.ip().unwrap_or_default());
    for _ in 0..MOST_ATTEMPTS {
        if let Ok((StatusCode::OK, body)) = get(container, primary, &path).await
            && let Ok(mut body) = serde_json::from_str::<Value>(&body)
            && let Value::Object(data) = body["data"].take()
        {
            book.lock().data = data.into_iter().take(MOST).collect();
            container.log(format!("Registered to node: {}", primary.0));
            return true;
        }
        tokio::time::sleep(PAUSE).await;
    }
    false
}

async fn handle(
    container: &Container,
    book: &Shared,
    backend: u16,
    request: &Request<HttpBody>,
) -> Response<Bytes> {
    let value = |name: &str| query(request, name).unwrap_or_default();
    let (key, new) = (value("key"), value("value"));
    match request.uri().path() {
        "/register" => {
            let mut book = book.lock();
            if book.replicas.len() < MOST {
                book.replicas.push(value("host"));
            }
            answer(StatusCode::OK, &json!({"data": book.data}))
        }
        "/get" => {
            let book = book.lock();
            let data = match key.as_str() {
                "" => json!(book.data),
                key => book.data.get(key).cloned().unwrap_or_else(|| json!("")),
            };
            answer(StatusCode::OK, &json!({"data": data}))
        }
        "/set" if key.is_empty() => text(StatusCode::BAD_REQUEST, "cannot set with empty key."),
        "/set" => set(container, book, backend, &key, &new).await,
        "/guestbook" => {
            let (command, path) = (value("cmd").to_lowercase(), |command: &str| {
                format!("/{command}?key={}&value={}", encoded(&key), encoded(&new))
            });
            let host = match command.as_str() {
                "get" => "agnhost-replica",
                "set" => "agnhost-primary",
                _ => return text(StatusCode::BAD_REQUEST, "unsupported cmd"),
            };
            match get(container, (host, backend), &path(&command)).await {
                Ok((_, body)) => text(StatusCode::OK, body),
                Err(error) => text(StatusCode::EXPECTATION_FAILED, error),
            }
        }
        _ => text(StatusCode::NOT_FOUND, "404 page not found\n"),
    }
}

async fn set(
    container: &Container,
    book: &Shared,
    backend: u16,
    key: &str,
    new: &str,
) -> Response<Bytes> {
    let replicas = {
        let mut book = book.lock();
        if book.data.len() < MOST || book.data.contains_key(key) {
            book.data.insert(key.to_owned(), json!(new));
        }
        book.replicas.clone()
    };
    let path = format!("/set?key={}&value={}", encoded(key), encoded(new));
    for replica in replicas {
        if let Err(error) = get(container, (&replica, backend), &path).await {
            let message =
                format!("encountered error while propagating to replica '{replica}': {error}");
            return text(StatusCode::EXPECTATION_FAILED, message);
        }
    }
    answer(StatusCode::OK, &json!({"message": "Updated"}))
}

fn encoded(text: &str) -> impl std::fmt::Display + '_ {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC)
}
