//! Lists and watches in JSON or protobuf, with one thread for each connection.
//!
//! Paths begin with `/run-X/pods-N/events-M/relist-R`: the number of pods, the number of changes in a watch, and
//! whether the first watch ends with 410; the list after that is one version later. The changes, or the 410, come once
//! `…/go` has been requested, so that a client can measure the time before.

use std::{
    collections::HashSet,
    io::{self, BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use serde_json::json;

use super::{
    corpus::{changed_pod, changed_version, listed_version, pod, watched_pod},
    protobuf::{self, Encoded},
};

/// The version of a list, and of the bookmark after all changes.
pub(crate) const LISTED: u64 = 1_000_000;
const CHANGED: u64 = 3_000_000;
const CHUNK: usize = 64 << 10;
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const EXPIRED: &str = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","message":"too old","code":410}"#;

/// Serves until standard input is closed.
pub(crate) fn serve() -> anyhow::Result<()> {
    std::thread::spawn(|| {
        // Only the end of the input matters.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        std::process::exit(0);
    });
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("http://{}", listener.local_addr()?);
    // It lives as long as the process.
    let state: &'static State = Box::leak(Box::default());
    for connection in listener.incoming() {
        let connection = connection?;
        std::thread::spawn(move || talk(&connection, state));
    }
    Ok(())
}

#[derive(Default)]
struct State {
    /// The runs whose changes may be sent, and the runs whose first watch has ended.
    gone: Mutex<HashSet<String>>,
    relisted: Mutex<HashSet<String>>,
    change: Condvar,
    encoded: Encoded,
}

/// A parsed request.
struct Request {
    /// The part of the path that identifies the run.
    run: String,
    path: String,
    protobuf: bool,
    pods: u64,
    events: u64,
    relist: bool,
}

impl State {
    /// Allows the changes of a run to be sent.
    fn go(&self, run: &str) {
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        gone.insert(run.to_owned());
        self.change.notify_all();
    }

    /// Waits until the changes may be sent.
    fn wait(&self, run: &str) {
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        while !gone.contains(run) {
            gone = self
                .change
                .wait(gone)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns whether the first watch of a run has ended.
    fn has_watched(&self, run: &str) -> bool {
        let relisted = self.relisted.lock().unwrap_or_else(PoisonError::into_inner);
        relisted.contains(run)
    }

    /// Returns whether this is the first watch of a run.
    fn first_watch(&self, run: &str) -> bool {
        let mut relisted = self.relisted.lock().unwrap_or_else(PoisonError::into_inner);
        relisted.insert(run.to_owned())
    }
}

fn talk(connection: &TcpStream, state: &State) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut lines = BufReader::new(connection).lines();
    while let Some(first) = lines.next().transpose()? {
        let mut accept = String::new();
        for line in lines.by_ref() {
            let line = line?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(types) = line.strip_prefix("accept:") {
                accept = types.to_owned();
            }
        }
        answer(connection, &Request::read(&first, &accept), state)?;
    }
    Ok(())
}

impl Request {
    fn read(first: &str, accept: &str) -> Self {
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let part = |name: &str| {
            let rest = path.split_once(name).map_or("", |(_, rest)| rest);
            rest.split(['/', '?', '&'])
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        let number = |name| part(name).parse::<u64>().unwrap_or(0);
        Self {
            run: part("/run-"),
            protobuf: accept.trim_start().starts_with(PROTOBUF),
            pods: number("/pods-"),
            events: number("/events-"),
            relist: number("/relist-") == 1,
            path,
        }
    }
}

fn answer(connection: &TcpStream, request: &Request, state: &State) -> io::Result<()> {
    let watches = request.path.contains("watch=true") || request.path.contains("watch=1");
    let mut body = Body::begin(connection, request.protobuf, watches)?;
    if request.path.ends_with("/go") {
        state.go(&request.run);
        body.push(b"{}")?;
    } else if !watches {
        list(&mut body, request, state)?;
    } else {
        watch(&mut body, request, state)?;
    }
    body.end()
}

fn list(body: &mut Body<'_>, request: &Request, state: &State) -> io::Result<()> {
    if request.protobuf {
        return body.push(&state.encoded.list(request.pods, LISTED)?);
    }
    let again = u64::from(request.relist && state.has_watched(&request.run));
    let head = json!({"resourceVersion": (LISTED + again).to_string()});
    let head = format!(r#"{{"kind":"PodList","apiVersion":"v1","metadata":{head},"items":["#);
    body.push(head.as_bytes())?;
    let mut text = String::new();
    for i in 0..request.pods {
        text.clear();
        if i > 0 {
            text.push(',');
        }
        pod(i, listed_version(i), &mut text);
        body.push(text.as_bytes())?;
    }
    body.push(b"]}\n")
}

fn watch(body: &mut Body<'_>, request: &Request, state: &State) -> io::Result<()> {
    if request.path.contains("sendInitialEvents=true") {
        for i in 0..request.pods {
            body.frame("ADDED", |text| watched_pod(i, listed_version(i), text))?;
        }
        bookmark(body, request, LISTED, true)?;
    }
    body.flush()?;
    state.wait(&request.run);
    if request.relist && state.first_watch(&request.run) {
        return body.frame("ERROR", |text| text.push_str(EXPIRED));
    }
    if request.protobuf {
        body.push(&state.encoded.frames(request.pods, request.events)?)?;
    } else {
        for event in 0..request.events {
            let which = changed_pod(event, request.pods);
            body.frame("MODIFIED", |text| {
                watched_pod(which, changed_version(event), text)
            })?;
        }
    }
    if request.events > 0 {
        bookmark(body, request, CHANGED, false)?;
    }
    body.flush()?;
    // A watch stays open. Its connection ends with the process.
    std::thread::sleep(Duration::from_secs(3600));
    Ok(())
}

fn bookmark(body: &mut Body<'_>, request: &Request, version: u64, end: bool) -> io::Result<()> {
    let mut pod = json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {"resourceVersion": version.to_string()},
    });
    if end {
        pod["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    if request.protobuf {
        return body.push(&protobuf::frame("BOOKMARK", &pod)?);
    }
    body.frame("BOOKMARK", |text| text.push_str(&pod.to_string()))
}

/// Writes a chunked body.
struct Body<'a> {
    connection: &'a TcpStream,
    bytes: Vec<u8>,
    text: String,
}

impl<'a> Body<'a> {
    fn begin(mut connection: &'a TcpStream, protobuf: bool, watches: bool) -> io::Result<Self> {
        let kind = match (protobuf, watches) {
            (true, true) => format!("{PROTOBUF};stream=watch"),
            (true, false) => PROTOBUF.to_owned(),
            (false, _) => "application/json".to_owned(),
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        connection.write_all(head.as_bytes())?;
        Ok(Self {
            connection,
            bytes: Vec::with_capacity(CHUNK * 2),
            text: String::new(),
        })
    }

    /// Formats one event in JSON.
    fn frame(&mut self, event: &str, object: impl FnOnce(&mut String)) -> io::Result<()> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        text.push_str("{\"type\":\"");
        text.push_str(event);
        text.push_str("\",\"object\":");
        object(&mut text);
        text.push_str("}\n");
        let pushed = self.push(text.as_bytes());
        self.text = text;
        pushed
    }

    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(CHUNK) {
            self.bytes.extend_from_slice(piece);
            if self.bytes.len() >= CHUNK {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.bytes.is_empty() {
            let mut connection = self.connection;
            self.bytes.extend_from_slice(b"\r\n");
            let size = format!("{:x}\r\n", self.bytes.len() - 2);
            connection.write_all(size.as_bytes())?;
            connection.write_all(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }

    fn end(mut self) -> io::Result<()> {
        self.flush()?;
        let mut connection = self.connection;
        connection.write_all(b"0\r\n\r\n")
    }
}
