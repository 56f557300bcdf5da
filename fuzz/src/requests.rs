//! Requests to a whole server, in this process.
//!
//! A part of the input is a request: a line with method and path, then lines with headers, an empty line, and the body. The
//! clock of the runtime stands still while there is work and jumps ahead otherwise, so a watch ends at once.

use std::{cell::RefCell, time::Duration};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Uri, header::CONTENT_TYPE};
use http_body_util::{BodyExt, Full};
use kubewright_kube_apiserver::KubeApiServer;
use tokio::runtime::Runtime;
use tower::ServiceExt;

use crate::parts::parts;

/// The most requests of an input.
const MAX_REQUESTS: usize = 8;

/// The number of requests after which the server is replaced, so that a finding does not depend on a long history.
const LIFE: usize = 512;

/// The time that a response may take, in the time of the runtime.
const PATIENCE: Duration = Duration::from_secs(120);

/// The sentence of a server that caught a panic.
const PANIC: &[u8] = b"caused apiserver to panic";

/// A server with the runtime it runs on.
struct Running {
    runtime: Runtime,
    server: KubeApiServer,
    requests: usize,
}

thread_local! {
    static SERVER: RefCell<Option<Running>> = const { RefCell::new(None) };
}

/// Sends the requests of an input, and checks that every one is answered without a panic.
pub(crate) fn requests(data: &[u8]) {
    let requests: Vec<_> = parts(data).take(MAX_REQUESTS).filter_map(request).collect();
    if requests.is_empty() {
        return;
    }
    SERVER.with_borrow_mut(|slot| {
        if slot.as_ref().is_some_and(|running| running.requests > LIFE) {
            *slot = None;
        }
        let running = slot.get_or_insert_with(Running::start);
        for request in requests {
            running.send(request);
        }
    });
}

impl Running {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let server = runtime
            .block_on(KubeApiServer::builder().build())
            .expect("a server");
        Self {
            runtime,
            server,
            requests: 0,
        }
    }

    fn send(&mut self, request: Request<Full<Bytes>>) {
        self.requests += 1;
        let service = self.server.server().clone();
        let shown = format!("{} {}", request.method(), request.uri());
        self.runtime.block_on(async {
            let answer = async {
                let Ok(response) = service.oneshot(request).await;
                let code = response.status();
                let mut body = response.into_body();
                let mut bytes = Vec::new();
                while let Some(Ok(frame)) = body.frame().await {
                    if let Some(data) = frame.data_ref() {
                        bytes.extend_from_slice(data);
                    }
                }
                (code, bytes)
            };
            // A watch may go on for longer; it is dropped then.
            let Ok((code, body)) = tokio::time::timeout(PATIENCE, answer).await else {
                return;
            };
            let panicked = body.windows(PANIC.len()).any(|window| window == PANIC);
            assert!(!panicked, "{shown}: {code}");
        });
    }
}

/// Parses a request, if it is one.
fn request(part: &[u8]) -> Option<Request<Full<Bytes>>> {
    let empty = part.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = match empty {
        Some(at) => (&part[..at], &part[at + 2..]),
        None => (part, &[][..]),
    };
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = lines.next()?;
    let space = first.iter().position(|byte| *byte == b' ')?;
    let method = Method::from_bytes(&first[..space]).ok()?;
    let uri = Uri::try_from(&first[space + 1..]).ok()?;
    let mut request = Request::new(Full::new(Bytes::copy_from_slice(body)));
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    if !body.is_empty() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
        headers.insert(name, value);
    }
    Some(request)
}
