//! The standard streams of a client, connected to a command, through a terminal if the client asks for one.

use std::{
    convert::Infallible,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use kubewright_streams::{ExecSession, Input, Output};
use tokio::io::{AsyncWrite, AsyncWriteExt, DuplexStream};

use crate::shell::{Reader, Stdio, Writer};

/// The longest line that can be edited, in bytes.
const LONGEST_LINE: usize = 4096;

/// Returns the streams of a command, and a future that must run concurrently and never completes.
pub(crate) fn terminal(
    session: ExecSession,
) -> (Stdio, impl Future<Output = Infallible> + Send + 'static) {
    let is_terminal = session.options.tty;
    let writer = |output: Option<Output>| match output {
        Some(output) if is_terminal => Writer::new(Newlines(output)),
        Some(output) => Writer::new(output),
        None => Writer::nowhere(),
    };
    let stdout = writer(session.stdout);
    let stderr = match is_terminal {
        true => stdout.clone(),
        false => writer(session.stderr),
    };
    let mut typed = None;
    let stdin = match session.stdin {
        None => Reader::empty(),
        Some(input) if !is_terminal => Reader::new(input),
        Some(input) => {
            let (near, far) = tokio::io::duplex(LONGEST_LINE);
            typed = Some((input, near));
            Reader::new(far)
        }
    };
    let echo = stdout.clone();
    let io = Stdio {
        stdin,
        stdout,
        stderr,
    };
    let mut resizes = session.resizes;
    let pump = async move {
        let typing = async move {
            if let Some((input, lines)) = typed {
                edit(input, lines, &echo).await;
            }
        };
        // The terminal has no size; resize events are read only to keep the queue empty.
        let resizing = async move { while resizes.next().await.is_some() {} };
        tokio::join!(typing, resizing);
        std::future::pending().await
    };
    (io, pump)
}

/// Reads input, echoes it, and passes whole lines on.
async fn edit(mut input: Input, mut lines: DuplexStream, echo: &Writer) {
    let mut line = Vec::new();
    while let Some(bytes) = input.chunk().await {
        for byte in bytes {
            let single = [byte];
            let shown: &[u8] = match byte {
                b'\r' | b'\n' => {
                    line.push(b'\n');
                    if lines.write_all(&line).await.is_err() {
                        return;
                    }
                    line.clear();
                    b"\n"
                }
                // Delete.
                8 | 127 => match line.pop() {
                    Some(_) => b"\x08 \x08",
                    None => b"",
                },
                // Control-C discards the line.
                3 => {
                    line.clear();
                    b"^C\n"
                }
                // Control-D at the start of a line ends the input.
                4 if line.is_empty() => return,
                byte if line.len() < LONGEST_LINE => {
                    line.push(byte);
                    &single
                }
                _ => b"",
            };
            if echo.show(shown).await.is_err() {
                return;
            }
        }
    }
}

/// Translates newlines into carriage return and newline, as terminals do.
struct Newlines(Output);

impl AsyncWrite for Newlines {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut text = Vec::with_capacity(buf.len() + 16);
        // At most half of what the stream accepts at once, so that every write is complete.
        let part = &buf[..buf.len().min(8 << 10)];
        for byte in part {
            if *byte == b'\n' {
                text.push(b'\r');
            }
            text.push(*byte);
        }
        let written = std::task::ready!(Pin::new(&mut self.0).poll_write(cx, &text))?;
        debug_assert_eq!(written, text.len());
        Poll::Ready(Ok(part.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
