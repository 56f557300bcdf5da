//! Open streams, and an echo over a WebSocket.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

use crate::{
    endpoint::Endpoint,
    proc,
    requests::Template,
    wire::{Answer, Connection, Protocol},
};

/// Opens logs on connections of their own, and returns the kilobytes of the server for each.
pub(super) async fn memory(endpoint: &Endpoint, path: &str, count: usize) -> anyhow::Result<f64> {
    let request = Template::new(endpoint, "GET", &format!("{path}/tail"), "");
    let before = proc::resident(&endpoint.pids)?;
    let mut open = Vec::new();
    for _ in 0..count {
        let mut connection = Connection::open(endpoint)
            .await
            .context("open streams need `ulimit -n` above 10,100")?;
        connection.send(request.bytes()).await?;
        let (mut answer, mut line) = (Answer::new(), Vec::new());
        while line.is_empty() {
            let receive = |data: &[u8]| line.extend_from_slice(data);
            connection.receive(&mut answer, &mut { receive }).await?;
        }
        ensure!(
            answer.status == 200 && line == b"a line\n",
            "a log is wrong"
        );
        open.push(connection);
    }
    let more = proc::resident(&endpoint.pids)?.saturating_sub(before);
    Ok(more as f64 / 1e3 / count as f64)
}

/// Returns the median time of an echo.
pub(super) async fn echo(
    endpoint: &Endpoint,
    path: &str,
    count: usize,
) -> anyhow::Result<Duration> {
    let tcp = TcpStream::connect(&endpoint.address).await?;
    tcp.set_nodelay(true)?;
    let tls = TlsConnector::from(endpoint.tls(Protocol::Http1).clone());
    let mut socket = tls.connect(endpoint.name.clone(), tcp).await?;
    let head = format!(
        "GET {path}/echo?stdin=true&stdout=true&command=echo HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
         connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: v5.channel.k8s.io\r\n\r\n",
        endpoint.address, endpoint.token
    );
    socket.write_all(head.as_bytes()).await?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(socket.read_u8().await?);
    }
    ensure!(
        answer.starts_with(b"HTTP/1.1 101 "),
        "the echo is answered {}",
        String::from_utf8_lossy(&answer)
    );
    // A binary message on channel 0, masked with zeros, and what comes back on channel 1.
    let mut sent = vec![0x82, 0x80 | 9, 0, 0, 0, 0, 0];
    sent.extend_from_slice(b"an echo!");
    let mut times = Vec::with_capacity(count);
    let mut received = Vec::new();
    for _ in 0..count {
        let began = Instant::now();
        socket.write_all(&sent).await?;
        socket.flush().await?;
        // Channels begin with an empty message.
        received.clear();
        while received.len() < 2 {
            message(&mut socket, &mut received).await?;
        }
        times.push(began.elapsed());
        ensure!(received == b"\x01an echo!", "an echo is {received:?}");
    }
    times.sort_unstable();
    times.get(count / 2).copied().context("there were echoes")
}

/// Reads a short message.
async fn message(socket: &mut (impl AsyncRead + Unpin), into: &mut Vec<u8>) -> anyhow::Result<()> {
    let mut head = [0; 2];
    socket.read_exact(&mut head).await?;
    ensure!(
        head[0] == 0x82 && head[1] < 126,
        "a message begins with {head:?}"
    );
    into.resize(head[1].into(), 0);
    socket.read_exact(into).await?;
    Ok(())
}
