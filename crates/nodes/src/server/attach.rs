//! `/attach`: the standard streams of a container.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use kubewright_informer::Key;
use kubewright_machinery::Status;
use kubewright_streams::{Exec, ExecSession, Exit, Input};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncWriteExt, DuplexStream},
    sync::{Notify, mpsc},
};

use crate::{
    image::Signals,
    logs::{Log, Stream},
    nodes::{Known, Shared},
};

/// A container that clients can attach to.
pub(super) struct Attached {
    log: Log,
    /// The output since the request, so that none is lost during the upgrade.
    output: Mutex<Option<mpsc::Receiver<(Stream, Bytes)>>>,
    /// The target of standard input, if the container has one.
    signals: Option<Arc<Signals>>,
    /// Whether standard input is closed after the first client that used it.
    is_once: bool,
}

impl Shared {
    pub(super) fn attached(
        &self,
        key: &Key,
        known: &Known,
        i: usize,
        log: Log,
    ) -> Option<Attached> {
        let plan = self.plan(key)?;
        let raw = &plan.containers.get(i)?.raw;
        let state = known.state.lock();
        let function = state.containers.get(i)?.function.as_ref();
        Some(Attached {
            output: Mutex::new(Some(log.attach())),
            log,
            signals: function.filter(|_| raw.stdin).map(|f| f.signals.clone()),
            is_once: raw.stdin_once,
        })
    }
}

#[async_trait]
impl Exec for Attached {
    async fn exec(&self, mut session: ExecSession) -> Result<Exit, Status> {
        let is_terminal = session.options.tty;
        let pieces = self.output.lock().take();
        let mut pieces = pieces.unwrap_or_else(|| self.log.attach());
        let (mut stdout, mut stderr) = (session.stdout.take(), session.stderr.take());
        let detached = Notify::new();
        let printing = async {
            loop {
                let piece = tokio::select! {
                    biased;
                    piece = pieces.recv() => piece,
                    () = detached.notified() => return,
                };
                let Some((stream, bytes)) = piece else { return };
                let to = match stream {
                    Stream::Error if !is_terminal => &mut stderr,
                    _ => &mut stdout,
                };
                let Some(to) = to else { continue };
                let bytes = match is_terminal {
                    true => with_returns(&bytes),
                    false => bytes.to_vec(),
                };
                if to.write_all(&bytes).await.is_err() {
                    return;
                }
            }
        };
        let typing = async {
            if let (Some(input), Some(signals)) = (session.stdin.take(), &self.signals) {
                self.forward(input, signals, is_terminal).await;
                // As in containerd, a client whose input has ended is detached, unless that also ends the input of the container.
                if !self.is_once || is_terminal {
                    detached.notify_one();
                }
            }
            std::future::pending::<()>().await;
        };
        let resizing = async {
            while session.resizes.next().await.is_some() {}
            std::future::pending::<()>().await;
        };
        tokio::select! {
            // The stream ends with the container.
            () = printing => {}
            () = typing => {}
            () = resizing => {}
        }
        Ok(Exit::SUCCESS)
    }
}

impl Attached {
    /// Forwards the input of a client.
    async fn forward(&self, mut input: Input, signals: &Signals, is_terminal: bool) {
        let mut stdin = signals.stdin.lock().await;
        while let Some(bytes) = input.chunk().await {
            let Some(to) = stdin.as_mut() else { return };
            if typed(to, &bytes, is_terminal, &self.log).await.is_err() {
                return;
            }
        }
        if self.is_once && !is_terminal {
            *stdin = None;
        }
    }
}

/// Writes input to the container, and echoes it on a terminal.
async fn typed(
    to: &mut DuplexStream,
    bytes: &[u8],
    is_terminal: bool,
    log: &Log,
) -> std::io::Result<()> {
    if !is_terminal {
        return to.write_all(bytes).await;
    }
    let text: Vec<u8> = bytes
        .iter()
        .map(|b| if *b == b'\r' { b'\n' } else { *b })
        .collect();
    log.show(Stream::Out, &text).await;
    to.write_all(&text).await
}

/// Adds a carriage return before each newline, as a terminal does.
fn with_returns(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 8);
    for byte in bytes {
        if *byte == b'\n' {
            out.push(b'\r');
        }
        out.push(*byte);
    }
    out
}
