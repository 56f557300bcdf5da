//! `netexec`: echoes, describes itself, calls others, and runs commands.

use std::{net::Ipv4Addr, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::{
    flags::Flags,
    http::{certificate, get, json as answer, query, serve, serve_tls, text},
};
use crate::image::{Container, HttpBody};

/// The number of calls of `/dial`.
const MOST_TRIES: u32 = 100;

/// The time to wait for the answer to a datagram.
const PATIENCE: Duration = Duration::from_secs(1);

/// The exit code that a request asked for.
type Exit = watch::Sender<Option<i32>>;

pub(super) async fn run(container: &Container, flags: &Flags<'_>) -> i32 {
    let port = flags.port("http-port", 8080);
    let udp_port = match flags.get("udp-port") {
        Some(port) => port.parse().ok(),
        None => Some(8081),
    };
    let delay = flags.get("delay-shutdown").and_then(|s| s.parse().ok());
    let container = &container.lingering(Duration::from_secs(delay.unwrap_or(0)));
    let (exit, mut requested) = watch::channel(None);
    let own = container.clone();
    let handler = move |request: Request<HttpBody>| {
        let (container, exit) = (own.clone(), exit.clone());
        async move { handle(&container, port, &exit, &request).await }
    };
    let served = async {
        match certificate(flags) {
            files @ (Some(_), _) => serve_tls(container, port, files, handler).await,
            _ => serve(container, port, handler).await,
        }
    };
    tokio::select! {
        code = served => code,
        code = datagrams(container, udp_port) => code,
        Ok(code) = requested.wait_for(Option::is_some) => code.unwrap_or(0),
    }
}

/// Answers the requests in datagrams, until the port is closed.
async fn datagrams(container: &Container, port: Option<u16>) -> i32 {
    let Some(port) = port else {
        return std::future::pending().await;
    };
    let mut socket = match container.bind_udp(port) {
        Ok(socket) => socket,
        Err(error) => {
            container.log(format!("cannot bind UDP port {port}: {error}"));
            return 1;
        }
    };
    while let Some(datagram) = socket.receive().await {
        let text = String::from_utf8_lossy(datagram.bytes());
        let (command, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        match command.to_lowercase().as_str() {
            "hostname" => datagram.reply(container.hostname().await),
            "echo" => datagram.reply(rest.to_owned()),
            "clientip" => datagram.reply(format!("{}:40000", datagram.from())),
            _ => {}
        }
    }
    0
}

async fn handle(
    container: &Container,
    port: u16,
    exit: &Exit,
    request: &Request<HttpBody>,
) -> Response<Bytes> {
    let ok = |body: String| text(StatusCode::OK, body);
    let from = request.extensions().get::<Ipv4Addr>();
    let time = container.now().strftime("%Y/%m/%d %H:%M:%S");
    container.log(format!("{time} {} {}", request.method(), request.uri()));
    match request.uri().path() {
        "/" => ok(format!("NOW: {}", container.now())),
        "/healthz" | "/readyz" => ok(String::new()),
        "/hostname" | "/hostName" => ok(container.hostname().await),
        "/serverport" => ok(port.to_string()),
        "/clientip" => match from {
            Some(from) => ok(format!("{from}:40000")),
            None => ok(String::new()),
        },
        "/header" => header_of(request),
        "/echo" => echo(request),
        "/redirect" => redirect(request),
        "/shell" => shell(container, request).await,
        "/dial" => dial(container, request).await,
        "/exit" => {
            let code = query(request, "code").and_then(|code| code.parse().ok());
            exit.send_replace(Some(code.unwrap_or(0)));
            ok(String::new())
        }
        "/shutdown" => {
            exit.send_replace(Some(0));
            ok(String::new())
        }
        _ => text(StatusCode::NOT_FOUND, "404 page not found\n"),
    }
}

fn code_of(request: &Request<HttpBody>, default: StatusCode) -> StatusCode {
    let code = query(request, "code").and_then(|code| code.parse::<u16>().ok());
    let code = code.and_then(|code| StatusCode::from_u16(code).ok());
    code.unwrap_or(default)
}

fn echo(request: &Request<HttpBody>) -> Response<Bytes> {
    let message = query(request, "msg").unwrap_or_default();
    text(code_of(request, StatusCode::OK), message)
}

fn redirect(request: &Request<HttpBody>) -> Response<Bytes> {
    let location = query(request, "location").unwrap_or_default();
    let mut response = text(code_of(request, StatusCode::FOUND), Bytes::new());
    match HeaderValue::from_str(&location) {
        Ok(location) => {
            response.headers_mut().insert(header::LOCATION, location);
            response
        }
        Err(_) => text(StatusCode::BAD_REQUEST, "invalid location"),
    }
}

fn header_of(request: &Request<HttpBody>) -> Response<Bytes> {
    if let Some(name) = query(request, "key") {
        let value = request.headers().get(name).map(HeaderValue::as_bytes);
        return text(StatusCode::OK, value.unwrap_or_default().to_vec());
    }
    let mut all = Map::new();
    for (name, value) in request.headers() {
        let values = all.entry(name.as_str()).or_insert_with(|| json!([]));
        if let (Value::Array(values), Ok(value)) = (values, value.to_str()) {
            values.push(json!(value));
        }
    }
    answer(StatusCode::OK, &Value::Object(all))
}

async fn shell(container: &Container, request: &Request<HttpBody>) -> Response<Bytes> {
    let command = query(request, "shellCommand").or_else(|| query(request, "cmd"));
    let command = ["/bin/sh", "-c", &command.unwrap_or_default()].map(str::to_owned);
    match container.execute(&command).await {
        (0, printed) => answer(StatusCode::OK, &json!({"output": printed})),
        (code, printed) => {
            let body = json!({"output": printed, "error": format!("exit status {code}")});
            answer(StatusCode::EXPECTATION_FAILED, &body)
        }
    }
}

/// Calls another server, several times if asked to.
async fn dial(container: &Container, request: &Request<HttpBody>) -> Response<Bytes> {
    let value = |name: &str| query(request, name).unwrap_or_default();
    let (host, path) = (value("host"), value("request"));
    let protocol = query(request, "protocol").unwrap_or_else(|| "http".to_owned());
    let port = value("port").parse::<u16>();
    let is_known = matches!(protocol.as_str(), "http" | "udp");
    let (Ok(port), false, true) = (port, path.is_empty(), is_known) else {
        return text(
            StatusCode::BAD_REQUEST,
            "invalid host, port, request or protocol",
        );
    };
    let tries = value("tries")
        .parse::<u32>()
        .unwrap_or(1)
        .clamp(1, MOST_TRIES);
    let (mut responses, mut errors) = (Vec::new(), Vec::new());
    let mut has_succeeded = false;
    for _ in 0..tries {
        let answer = match protocol.as_str() {
            "udp" => {
                let answer = container.ask_udp(&host, port, path.clone(), PATIENCE).await;
                answer
                    .map(|bytes| (true, String::from_utf8_lossy(&bytes).into_owned()))
                    .map_err(|error| format!("reading from udp connection failed: {error}"))
            }
            _ => {
                let path = format!("/{}", path.trim_start_matches('/'));
                let answer = get(container, (&host, port), &path).await;
                answer.map(|(code, body)| (code.is_success(), body))
            }
        };
        match answer {
            Ok((is_success, body)) => {
                has_succeeded = is_success;
                responses.push(body);
            }
            Err(error) => {
                has_succeeded = false;
                errors.push(error);
            }
        }
    }
    let mut body = json!({});
    if !responses.is_empty() {
        body["responses"] = json!(responses);
    }
    if !errors.is_empty() {
        body["errors"] = json!(errors);
    }
    let code = match has_succeeded {
        true => StatusCode::OK,
        false => StatusCode::EXPECTATION_FAILED,
    };
    answer(code, &body)
}
