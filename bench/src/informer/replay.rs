//! The server: pods from a seed over plain HTTP, as many as the path asks for.
//!
//! Paths begin with `/pods-N/events-M/relist-R`: how many pods there are, how many changes a watch brings, whether the
//! first watch ends with 410.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::corpus::{pod, watched_pod};

const CHUNK: usize = 64 << 10;

/// Serves until the process ends.
pub(super) fn serve() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("http://{}", listener.local_addr()?);
    let relisted = Arc::new(AtomicBool::new(false));
    for connection in listener.incoming() {
        let (connection, relisted) = (connection?, relisted.clone());
        std::thread::spawn(move || {
            let _ = talk(&connection, &relisted);
        });
    }
    Ok(())
}

fn talk(connection: &TcpStream, relisted: &AtomicBool) -> std::io::Result<()> {
    connection.set_nodelay(true)?;
    let mut lines = BufReader::new(connection).lines();
    while let Some(request) = lines.next().transpose()? {
        while lines
            .next()
            .transpose()?
            .is_some_and(|line| !line.is_empty())
        {}
        let path = request.split(' ').nth(1).unwrap_or_default();
        let number = |name: &str| {
            let rest = path.split_once(name).map_or("", |(_, rest)| rest);
            rest.split(['/', '?', '&'])
                .next()
                .and_then(|n| n.parse::<u64>().ok())
                .unwrap_or(0)
        };
        let (pods, events) = (number("/pods-"), number("/events-"));
        let mut body = Body::begin(connection)?;
        if !path.contains("watch=true") {
            list(&mut body, pods)?;
        } else if path.contains("sendInitialEvents") {
            for i in 0..pods {
                body.frame("ADDED", |text| watched_pod(i, 1000 + i, text))?;
            }
            body.frame("BOOKMARK", |text| text.push_str(&bookmark(1_000_000, true)))?;
            body.flush()?;
            std::thread::sleep(Duration::from_secs(3600));
        } else if number("/relist-") == 1 && !relisted.swap(true, Ordering::SeqCst) {
            body.flush()?;
            std::thread::sleep(Duration::from_secs(2));
            body.frame("ERROR", |text| text.push_str(r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","message":"too old","code":410}"#))?;
        } else {
            for i in 0..events {
                let which = i.wrapping_mul(7919) % pods;
                body.frame("MODIFIED", |text| watched_pod(which, 2_000_000 + i, text))?;
            }
            if events > 0 {
                body.frame("BOOKMARK", |text| {
                    text.push_str(&bookmark(3_000_000, false))
                })?;
            }
            body.flush()?;
            std::thread::sleep(Duration::from_secs(3600));
        }
        body.end()?;
    }
    Ok(())
}

fn list(body: &mut Body, pods: u64) -> std::io::Result<()> {
    body.text.push_str(
        r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1000000"},"items":["#,
    );
    for i in 0..pods {
        if i > 0 {
            body.text.push(',');
        }
        pod(i, 1000 + i, &mut body.text);
        body.flush_if_full()?;
    }
    body.text.push_str("]}\n");
    body.flush()
}

fn bookmark(version: u64, end: bool) -> String {
    let mark = if end {
        r#","annotations":{"k8s.io/initial-events-end":"true"}"#
    } else {
        ""
    };
    format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"resourceVersion":"{version}","creationTimestamp":null{mark}}}}}"#
    )
}

/// A chunked body.
struct Body<'a> {
    connection: &'a TcpStream,
    text: String,
}

impl<'a> Body<'a> {
    fn begin(mut connection: &'a TcpStream) -> std::io::Result<Self> {
        connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")?;
        Ok(Self {
            connection,
            text: String::with_capacity(CHUNK * 2),
        })
    }

    fn frame(&mut self, event: &str, object: impl FnOnce(&mut String)) -> std::io::Result<()> {
        self.text.push_str("{\"type\":\"");
        self.text.push_str(event);
        self.text.push_str("\",\"object\":");
        object(&mut self.text);
        self.text.push_str("}\n");
        self.flush_if_full()
    }

    fn flush_if_full(&mut self) -> std::io::Result<()> {
        if self.text.len() >= CHUNK {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if !self.text.is_empty() {
            let mut chunk = format!("{:x}\r\n", self.text.len());
            chunk.push_str(&self.text);
            chunk.push_str("\r\n");
            self.connection.write_all(chunk.as_bytes())?;
            self.text.clear();
        }
        Ok(())
    }

    fn end(mut self) -> std::io::Result<()> {
        self.flush()?;
        self.connection.write_all(b"0\r\n\r\n")
    }
}
