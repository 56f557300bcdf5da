//! The server of the tests, with its commands and ports.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response};
use http_body_util::Full;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use kubewright_machinery::{Status, status};
use kubewright_streams::{
    Duplex, Exec, ExecOptions, ExecSession, Exit, ForwardError, PortForward, StreamLimits, Streams,
    ports_from_query,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::spdy_client::Spdy;

/// Runs the commands of the tests.
#[derive(Default)]
pub(crate) struct Commands {
    /// The bytes that `flood` has written.
    pub(crate) written: AtomicUsize,
    /// The number of commands that run.
    pub(crate) running: AtomicUsize,
}

struct Running<'a>(&'a AtomicUsize);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

#[async_trait]
impl Exec for Commands {
    async fn exec(&self, session: ExecSession) -> Result<Exit, Status> {
        self.running.fetch_add(1, SeqCst);
        let _running = Running(&self.running);
        let (mut stdin, mut stdout) = (session.stdin, session.stdout);
        let mut stderr = session.stderr;
        let mut resizes = session.resizes;
        let words: Vec<&str> = session.options.command.iter().map(String::as_str).collect();
        match words[..] {
            ["echo"] => {
                let stdin = stdin.as_mut().expect("stdin");
                let stdout = stdout.as_mut().expect("stdout");
                tokio::io::copy(stdin, stdout).await.expect("copy");
            }
            ["both"] => {
                for (stream, text) in [(&mut stdout, "to stdout"), (&mut stderr, "to stderr")] {
                    if let Some(stream) = stream {
                        stream.write_all(text.as_bytes()).await.expect("write");
                    }
                }
            }
            ["size"] => {
                let size = resizes.next().await.expect("a size");
                let text = format!("{}x{}", size.width, size.height);
                let stdout = stdout.as_mut().expect("stdout");
                stdout.write_all(text.as_bytes()).await.expect("write");
            }
            ["flood"] => {
                let stdout = stdout.as_mut().expect("stdout");
                loop {
                    if stdout.write_all(&[b'x'; 1024]).await.is_err() {
                        return Ok(Exit::code(1));
                    }
                    self.written.fetch_add(1024, SeqCst);
                }
            }
            ["wait"] => std::future::pending().await,
            ["panic"] => panic!("a command that panics"),
            ["fail"] => return Err(status::bad_request("no such command")),
            ["exit", code] => return Ok(Exit::code(code.parse().expect("a code"))),
            _ => return Ok(Exit::code(127)),
        }
        Ok(Exit::SUCCESS)
    }
}

/// Port 80 echoes its input after its end; other ports are closed.
struct Ports;

#[async_trait]
impl PortForward for Ports {
    async fn forward(&self, port: u16, mut connection: Duplex) -> Result<(), ForwardError> {
        let refused = |e| ForwardError::new(port, e);
        if port != 80 {
            return Err(ForwardError::new(port, "connection refused"));
        }
        let mut text = format!("port {port}: ").into_bytes();
        while let Some(bytes) = connection.input.chunk().await {
            text.extend_from_slice(&bytes);
            // Clients of a WebSocket cannot end a channel.
            if bytes.ends_with(b".") {
                break;
            }
        }
        connection.write_all(&text).await.map_err(refused)?;
        connection.shutdown().await.map_err(refused)
    }
}

/// Responds to a request.
pub(crate) fn answer<B>(
    streams: &Streams,
    commands: &Arc<Commands>,
    mut request: Request<B>,
) -> Response<Full<Bytes>> {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let answer = match request.uri().path() {
        "/exec" => {
            let options = ExecOptions::from_query(&query);
            streams.exec(&mut request, options, commands.clone())
        }
        "/portforward" => ports_from_query(&query)
            .and_then(|ports| streams.port_forward(&mut request, ports, Arc::new(Ports))),
        "/log" => {
            let lines = ["one\n", "two\n"].map(|line| Ok::<_, Infallible>(Bytes::from(line)));
            streams.messages(&mut request, stream::iter(lines))
        }
        path => panic!("{path}"),
    };
    let answer = answer.unwrap_or_else(|status| {
        let mut response = Response::new(Bytes::from(status.message.clone()));
        *response.status_mut() = status.code.try_into().expect("a code");
        response
    });
    answer.map(Full::new)
}

/// A server without a socket.
pub(crate) struct TestServer {
    streams: Streams,
    pub(crate) commands: Arc<Commands>,
}

impl TestServer {
    pub(crate) fn new() -> Self {
        Self::with_limits(StreamLimits::default())
    }

    pub(crate) fn with_limits(limits: StreamLimits) -> Self {
        Self {
            streams: Streams::new(limits),
            commands: Arc::default(),
        }
    }

    /// Sends a request. Returns the connection and the head of the response.
    pub(crate) async fn open(&self, head: &str) -> (DuplexStream, String) {
        let (mut near, far) = tokio::io::duplex(16 << 10);
        let (streams, commands) = (self.streams.clone(), self.commands.clone());
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let response = answer(&streams, &commands, request);
                async move { Ok::<_, Infallible>(response) }
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(far), service)
                .with_upgrades();
            let _ = connection.await;
        });
        let head = format!("{head}\r\nHost: test\r\n\r\n");
        near.write_all(head.as_bytes()).await.unwrap();
        let mut response = Vec::new();
        while !response.ends_with(b"\r\n\r\n") {
            response.push(near.read_u8().await.unwrap());
        }
        (near, String::from_utf8(response).unwrap())
    }
}

/// Opens connections to the server of the tests.
impl Spdy<DuplexStream> {
    pub(crate) async fn open(server: &TestServer, path: &str, protocol: &str) -> Self {
        let head = format!(
            "POST {path} HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: {protocol}"
        );
        let (io, response) = server.open(&head).await;
        assert!(response.starts_with("HTTP/1.1 101 "), "{response}");
        let named = format!("x-stream-protocol-version: {protocol}\r\n");
        assert!(response.to_ascii_lowercase().contains(&named), "{response}");
        Self::over(io)
    }
}
