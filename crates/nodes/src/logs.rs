//! [`Log`]: the log of a container, of which the end is kept.

use std::{collections::VecDeque, sync::Arc};

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// The number of bytes that are kept of a log.
pub(crate) const CAPACITY: usize = 256 << 10;

/// The log of a container. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Shared>);

#[derive(Default)]
struct Shared {
    lines: Mutex<Lines>,
    grown: Notify,
}

#[derive(Default)]
struct Lines {
    kept: VecDeque<Line>,
    bytes: usize,
    /// The number of lines that are no longer kept.
    dropped: u64,
    has_ended: bool,
}

/// One line, without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) at: Timestamp,
    pub(crate) text: Arc<str>,
}

impl Log {
    /// Writes a line. A line longer than the whole log is cut.
    pub(crate) fn write(&self, at: Timestamp, text: &str) {
        for text in text.split('\n') {
            let mut end = text.len().min(CAPACITY / 2);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let mut lines = self.0.lines.lock();
            lines.bytes += end;
            let text = text[..end].into();
            lines.kept.push_back(Line { at, text });
            while lines.bytes > CAPACITY
                && let Some(line) = lines.kept.pop_front()
            {
                lines.bytes -= line.text.len();
                lines.dropped += 1;
            }
        }
        self.0.grown.notify_waiters();
    }

    /// Marks the end: nothing is written any more.
    pub(crate) fn end(&self) {
        self.0.lines.lock().has_ended = true;
        self.0.grown.notify_waiters();
    }

    /// Returns the lines that are kept, from a number on, the number of the next line, and whether the log has ended.
    pub(crate) fn read(&self, from: u64) -> (Vec<Line>, u64, bool) {
        let lines = self.0.lines.lock();
        let skip = from.saturating_sub(lines.dropped) as usize;
        let next = lines.dropped + lines.kept.len() as u64;
        let found = lines.kept.iter().skip(skip).cloned().collect();
        (found, next, lines.has_ended)
    }

    /// Waits until there is more than the lines before a number, or the log has ended.
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
    async fn readers_are_told_of_new_lines_and_of_the_end() {
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
