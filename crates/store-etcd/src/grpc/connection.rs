//! [`Connection`]: a connection to one member, with its calls and streams.

use std::{error::Error, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, Uri, header};
use http_body_util::BodyExt;
use hyper::{body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::{
    net::TcpStream,
    sync::mpsc,
    time::{Instant, timeout, timeout_at},
};

use super::{
    body::RequestBody,
    endpoint::Endpoint,
    error::{CallError, Code},
    frame::{Frames, framed},
};
use crate::api::Message;

/// The time limit for establishing a connection.
const DIAL: Duration = Duration::from_secs(3);
/// The time between pings. etcd closes connections that ping more often than every 5 s.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// The time limit of a ping.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);
/// The flow-control window, for each stream and for the connection.
const WINDOW: u32 = 4 << 20;
/// The number of requests of a stream that can be queued.
const REQUESTS: usize = 4;

/// A connection to a member.
#[derive(Clone)]
pub(crate) struct Connection {
    sender: http2::SendRequest<RequestBody>,
    base: String,
}

/// A bidirectional streaming call.
pub(crate) struct Stream {
    requests: mpsc::Sender<Bytes>,
    body: Incoming,
    frames: Frames,
}

impl Connection {
    /// Connects to a member.
    pub(crate) async fn open(endpoint: &Endpoint) -> Result<Self, CallError> {
        let opened = timeout(DIAL, Self::dial(endpoint)).await;
        let opened = opened.unwrap_or_else(|_| Err("no answer in 3 s".to_owned()));
        opened.map_err(|error| CallError::unsent(format_args!("{endpoint}: {error}")))
    }

    async fn dial(endpoint: &Endpoint) -> Result<Self, String> {
        let stream = TcpStream::connect((&*endpoint.host, endpoint.port));
        let stream = stream.await.map_err(|e| e.to_string())?;
        stream.set_nodelay(true).map_err(|e| e.to_string())?;
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_header_list_size(1 << 16)
            .keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .keep_alive_while_idle(true);
        let sender = match &endpoint.tls {
            Some((tls, name)) => {
                let secured = tls.connector().connect(name.clone(), stream).await;
                let secured = secured.map_err(|e| e.to_string())?;
                let handshake = builder.handshake(TokioIo::new(secured)).await;
                let (sender, connection) = handshake.map_err(|e| causes(&e))?;
                tokio::spawn(async move {
                    // Its error is reported by the calls.
                    let _ = connection.await;
                });
                sender
            }
            None => {
                let handshake = builder.handshake(TokioIo::new(stream)).await;
                let (sender, connection) = handshake.map_err(|e| causes(&e))?;
                tokio::spawn(async move {
                    let _ = connection.await;
                });
                sender
            }
        };
        Ok(Self {
            sender,
            base: endpoint.to_string(),
        })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Makes a unary call.
    pub(crate) async fn call<M: Message>(
        &self,
        method: &str,
        message: &[u8],
        token: Option<&HeaderValue>,
        deadline: Instant,
    ) -> Result<M, CallError> {
        let body = RequestBody::One(Some(framed(message)));
        let answer = timeout_at(deadline, self.answer(method, body, token)).await;
        let answer = answer.unwrap_or_else(|_| {
            let late = format!("{}: no answer in time", self.base);
            Err(CallError::unanswered(Code::DEADLINE_EXCEEDED, late))
        })?;
        M::read(answer).map_err(|e| CallError::unanswered(Code::UNKNOWN, e))
    }

    async fn answer(
        &self,
        method: &str,
        body: RequestBody,
        token: Option<&HeaderValue>,
    ) -> Result<Bytes, CallError> {
        let mut body = self.send(method, body, token).await?.into_body();
        let mut frames = Frames::default();
        let mut answer = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|e| self.broken(&e))?;
            match frame.into_data() {
                Ok(data) => {
                    frames.push(&data);
                    let next = frames.next();
                    answer = answer.or(next.map_err(|e| CallError::unanswered(Code::UNKNOWN, e))?);
                }
                Err(frame) => {
                    if let Ok(trailers) = frame.into_trailers() {
                        status(&trailers)?;
                    }
                }
            }
        }
        answer.ok_or_else(|| {
            let empty = format!("{}: the answer is empty", self.base);
            CallError::unanswered(Code::UNKNOWN, empty)
        })
    }

    /// Opens a streaming call, and sends the first request.
    pub(crate) async fn stream(
        &self,
        method: &str,
        message: &[u8],
        token: Option<&HeaderValue>,
    ) -> Result<Stream, CallError> {
        let (requests, receiver) = mpsc::channel(REQUESTS);
        // The queue has space.
        let _ = requests.try_send(framed(message));
        let response = timeout(DIAL, self.send(method, RequestBody::Many(receiver), token)).await;
        let response = response.unwrap_or_else(|_| {
            let late = format!("{}: no answer in 3 s", self.base);
            Err(CallError::unanswered(Code::DEADLINE_EXCEEDED, late))
        })?;
        Ok(Stream {
            requests,
            body: response.into_body(),
            frames: Frames::default(),
        })
    }

    async fn send(
        &self,
        method: &str,
        body: RequestBody,
        token: Option<&HeaderValue>,
    ) -> Result<Response<Incoming>, CallError> {
        let uri: Uri = format!("{}{method}", self.base)
            .parse()
            .map_err(CallError::unsent)?;
        let mut request = Request::new(body);
        *request.method_mut() = http::Method::POST;
        *request.version_mut() = http::Version::HTTP_2;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        let grpc = HeaderValue::from_static("application/grpc");
        headers.insert(header::CONTENT_TYPE, grpc);
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
        // A member without a leader then ends watches instead of stalling.
        headers.insert("hasleader", HeaderValue::from_static("true"));
        if let Some(token) = token {
            headers.insert("token", token.clone());
        }
        let mut sender = self.sender.clone();
        if let Err(error) = sender.ready().await {
            return Err(CallError::unsent(format_args!(
                "{}: {}",
                self.base,
                causes(&error)
            )));
        }
        let sent = sender.send_request(request).await;
        let response = sent.map_err(|e| self.broken(&e))?;
        status(response.headers())?;
        if !response.status().is_success() {
            let text = format!("{} answered {}", self.base, response.status());
            return Err(CallError::unanswered(Code::UNKNOWN, text));
        }
        Ok(response)
    }

    fn broken(&self, error: &hyper::Error) -> CallError {
        let text = format!("{}: {}", self.base, causes(error));
        match error.is_canceled() {
            // The request was not sent.
            true => CallError::unsent(text),
            false => CallError::unanswered(Code::UNAVAILABLE, text),
        }
    }
}

impl Stream {
    /// Returns the next message. Cancel-safe.
    pub(crate) async fn next<M: Message>(&mut self) -> Result<M, CallError> {
        let broken = |text: String| CallError::unanswered(Code::UNAVAILABLE, text);
        loop {
            if let Some(message) = self.frames.next().map_err(broken)? {
                return M::read(message).map_err(|e| broken(e.to_string()));
            }
            let frame = match self.body.frame().await {
                Some(frame) => frame.map_err(|e| broken(causes(&e)))?,
                None => return Err(broken("the stream ended".to_owned())),
            };
            match frame.into_data() {
                Ok(data) => self.frames.push(&data),
                Err(frame) => {
                    if let Ok(trailers) = frame.into_trailers() {
                        status(&trailers)?;
                    }
                }
            }
        }
    }

    /// Sends a request, unless earlier ones are still queued.
    pub(crate) fn request(&self, message: &[u8]) {
        // If the queue is full, the same request is already queued. If it is closed, `next` returns the reason.
        let _ = self.requests.try_send(framed(message));
    }
}

/// Returns the error of a status, if there is one.
fn status(headers: &HeaderMap) -> Result<(), CallError> {
    let Some(code) = headers.get("grpc-status") else {
        return Ok(());
    };
    let code = code.to_str().ok().and_then(|code| code.parse().ok());
    let code = code.map_or(Code::UNKNOWN, Code);
    if code == Code::OK {
        return Ok(());
    }
    let message = headers.get("grpc-message").map(HeaderValue::as_bytes);
    let message = unescaped(message.unwrap_or_default());
    Err(CallError::answered(code, message))
}

/// Decodes percent escapes of a message.
fn unescaped(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        let escaped = match (first, tail) {
            (b'%', [high, low, ..]) => [*high, *low].iter().try_fold(0, |n, digit| {
                Some(n * 16 + char::from(*digit).to_digit(16)?)
            }),
            _ => None,
        };
        out.push(escaped.map_or(*first, |byte| byte as u8));
        rest = match escaped {
            Some(_) => &tail[2..],
            None => tail,
        };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns the text of an error with its causes.
fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn messages_are_unescaped() {
        assert_eq!(unescaped(b"a%20b%3a%"), "a b:%");
        assert_eq!(unescaped(b"%zz%4"), "%zz%4");
    }
}
