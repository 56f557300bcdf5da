//! [`Log`]: the end of a container's log, and the clients attached to the container.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;

use jiff::Timestamp;
use kubewright_controller::Clock;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

/// The number of bytes that are kept of a log.
pub(crate) const CAPACITY: usize = 256 << 10;

/// The log of a container. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Shared>);

#[derive(Default)]
struct Shared {
    lines: Mutex<Lines>,
    grown: Notify,
    /// Attached clients, which receive everything that is written from now on.
    attached: Mutex<Vec<mpsc::Sender<(Stream, Bytes)>>>,
}

/// A standard stream of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Error,
}

/// The number of chunks that are queued for an attached client.
const WAITING: usize = 64;

/// The length in bytes after which a line is split.
const LONGEST_PARTIAL: usize = 16 << 10;

/// The time after which an attached client that does not read is detached.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Default)]
struct Lines {
    kept: VecDeque<Line>,
    bytes: usize,
    /// The number of lines that were dropped from the start.
    dropped: u64,
    has_ended: bool,
}

/// One line, without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) at: Timestamp,
    pub(crate) text: Arc<str>,
    /// Whether the end of the line was not written.
    is_partial: bool,
}

impl Line {
    /// Adds the line to a text.
    pub(crate) fn print(&self, to: &mut String) {
        to.push_str(&self.text);
        if !self.is_partial {
            to.push('\n');
        }
    }
}

impl Log {
    /// Writes a line, and sends it to attached clients.
    pub(crate) fn write(&self, at: Timestamp, text: &str) {
        self.append(at, text);
        let mut attached = self.0.attached.lock();
        if !attached.is_empty() {
            let line = Bytes::from(format!("{text}\n"));
            // A client whose queue is full is detached.
            attached.retain(|to| to.try_send((Stream::Out, line.clone())).is_ok());
        }
    }

    /// Sends bytes to attached clients. Waits for slow ones, and detaches those that do not read.
    pub(crate) async fn show(&self, stream: Stream, bytes: &[u8]) {
        let attached = self.0.attached.lock().clone();
        if attached.is_empty() {
            return;
        }
        let bytes = Bytes::copy_from_slice(bytes);
        for to in attached {
            let sent = to.send_timeout((stream, bytes.clone()), PATIENCE).await;
            if sent.is_err() {
                self.0
                    .attached
                    .lock()
                    .retain(|other| !other.same_channel(&to));
            }
        }
    }

    /// Attaches a client, which receives all later output. Nothing follows if the log has ended.
    pub(crate) fn attach(&self) -> mpsc::Receiver<(Stream, Bytes)> {
        let (sender, receiver) = mpsc::channel(WAITING);
        let mut attached = self.0.attached.lock();
        attached.retain(|to| !to.is_closed());
        if !self.0.lines.lock().has_ended {
            attached.push(sender);
        }
        receiver
    }

    /// Waits for the end.
    pub(crate) async fn ended(&self) {
        self.grown(u64::MAX).await;
    }

    /// Adds a line. A line longer than the whole log is cut.
    pub(crate) fn append(&self, at: Timestamp, text: &str) {
        for text in text.split('\n') {
            self.append_part(at, text, false);
        }
    }

    /// Adds a line, or a part of a line.
    fn append_part(&self, at: Timestamp, text: &str, is_partial: bool) {
        let mut end = text.len().min(CAPACITY / 2);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        {
            let mut lines = self.0.lines.lock();
            lines.bytes += end;
            lines.kept.push_back(Line {
                at,
                text: text[..end].into(),
                is_partial,
            });
            while lines.bytes > CAPACITY
                && let Some(line) = lines.kept.pop_front()
            {
                lines.bytes -= line.text.len();
                lines.dropped += 1;
            }
        }
        self.0.grown.notify_waiters();
    }

    /// Marks the end of the log.
    pub(crate) fn end(&self) {
        self.0.lines.lock().has_ended = true;
        self.0.attached.lock().clear();
        self.0.grown.notify_waiters();
    }

    /// Returns the kept lines from a number on, the number of the next line, and whether the log has ended.
    pub(crate) fn read(&self, from: u64) -> (Vec<Line>, u64, bool) {
        let lines = self.0.lines.lock();
        let skip = from.saturating_sub(lines.dropped) as usize;
        let next = lines.dropped + lines.kept.len() as u64;
        let found = lines.kept.iter().skip(skip).cloned().collect();
        (found, next, lines.has_ended)
    }

    /// Returns the end of the log: at most some lines and some bytes.
    pub(crate) fn tail(&self, lines: usize, bytes: usize) -> String {
        let kept = self.0.lines.lock();
        let skipped = kept.kept.len().saturating_sub(lines);
        let mut text = String::new();
        for line in kept.kept.iter().skip(skipped) {
            line.print(&mut text);
        }
        let mut start = text.len().saturating_sub(bytes);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        text.split_off(start)
    }

    /// Waits until the log has lines from a number on, or has ended.
    pub(crate) async fn grown(&self, from: u64) {
        loop {
            let grown = self.0.grown.notified();
            let mut grown = std::pin::pin!(grown);
            grown.as_mut().enable();
            let (_, next, ended) = self.read(u64::MAX);
            if ended || next > from {
                return;
            }
            grown.await;
        }
    }
}

/// A standard stream of a process, whose lines go to the log.
pub(crate) struct LogWriter {
    log: Log,
    stream: Stream,
    clock: Clock,
    /// The start of a line whose end has not been written yet.
    partial: Mutex<Vec<u8>>,
}

impl LogWriter {
    pub(crate) fn new(log: Log, stream: Stream, clock: Clock) -> Self {
        Self {
            log,
            stream,
            clock,
            partial: Mutex::default(),
        }
    }

    /// Writes bytes to the log, and sends them to attached clients.
    pub(crate) async fn write(&self, bytes: &[u8]) {
        {
            let mut line = self.partial.lock();
            for part in bytes.split_inclusive(|byte| *byte == b'\n') {
                line.extend_from_slice(part);
                if line.ends_with(b"\n") || line.len() > LONGEST_PARTIAL {
                    self.append(&mut line);
                }
            }
        }
        self.log.show(self.stream, bytes).await;
    }

    fn append(&self, line: &mut Vec<u8>) {
        let text = String::from_utf8_lossy(line);
        let at = (self.clock)();
        match text.strip_suffix('\n') {
            Some(text) => self.log.append_part(at, text, false),
            None => self.log.append_part(at, &text, true),
        }
        line.clear();
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        let mut line = std::mem::take(self.partial.get_mut());
        if !line.is_empty() {
            self.append(&mut line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_keeps_its_end() {
        let log = Log::default();
        let line = "x".repeat(1000);
        for _ in 0..1000 {
            log.write(Timestamp::UNIX_EPOCH, &line);
        }
        let (lines, next, ended) = log.read(0);
        assert_eq!((lines.len(), next, ended), (CAPACITY / 1000, 1000, false));
        log.write(Timestamp::UNIX_EPOCH, "last");
        let (lines, next, _) = log.read(1000);
        assert_eq!((&*lines[0].text, next), ("last", 1001));
        log.write(Timestamp::UNIX_EPOCH, &"é".repeat(CAPACITY));
        assert!(log.read(0).0.iter().map(|l| l.text.len()).sum::<usize>() <= CAPACITY);
    }

    #[tokio::test]
    async fn output_reaches_the_log_and_clients_before_the_write_returns() {
        let log = Log::default();
        let mut client = log.attach();
        let clock: Clock = std::sync::Arc::new(|| Timestamp::UNIX_EPOCH);
        let writer = LogWriter::new(log.clone(), Stream::Error, clock);
        writer.write(b"one\ntw").await;
        writer.write(b"o").await;
        let texts = |log: &Log| log.read(0).0.into_iter().map(|line| line.text).collect();
        let seen: Vec<Arc<str>> = texts(&log);
        assert_eq!(seen, [Arc::from("one")]);
        drop(writer);
        log.end();
        let seen: Vec<Arc<str>> = texts(&log);
        assert_eq!(seen, [Arc::from("one"), Arc::from("two")]);
        let mut shown = Vec::new();
        while let Some((stream, bytes)) = client.recv().await {
            assert_eq!(stream, Stream::Error);
            shown.extend_from_slice(&bytes);
        }
        assert_eq!(shown, b"one\ntwo");
        // A client that attaches now receives nothing, and does not wait.
        assert!(log.attach().recv().await.is_none());
    }

    #[tokio::test]
    async fn readers_are_notified_of_new_lines_and_of_the_end() {
        let log = Log::default();
        log.write(Timestamp::UNIX_EPOCH, "a\nb");
        log.grown(1).await;
        let reader = log.clone();
        let waiting = tokio::spawn(async move { reader.grown(2).await });
        tokio::task::yield_now().await;
        log.end();
        waiting.await.unwrap();
        assert!(log.read(2).2);
    }
}
