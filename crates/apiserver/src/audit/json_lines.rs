//! [`JsonLines`]: events as lines of JSON, written by a thread of its own.

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, TryRecvError, sync_channel},
    },
    thread::JoinHandle,
};

use super::{Event, Sink};

/// The maximum number of events that wait to be written, which is that of kube-apiserver's batching backend.
const MAX_EVENTS: usize = 10_000;

/// The most bytes of them.
const MAX_BYTES: usize = 64 << 20;

/// Writes each event as a line of JSON, in the format of kube-apiserver's audit log.
///
/// A thread writes, so that no request waits for the disk. At most 10,000 events or 64 MiB wait; those that do not fit are
/// dropped, counted and reported in the server's log. Dropping the sink writes what is left.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::audit::{Event, JsonLines, Sink};
///
/// let file = std::env::temp_dir().join(format!("audit-doc-{}.jsonl", std::process::id()));
/// let log = JsonLines::new(std::fs::File::create(&file)?)?;
/// log.record(Arc::new(Event { verb: "get".into(), ..Event::default() }));
/// log.flush();
/// assert!(std::fs::read_to_string(&file)?.ends_with("Z\"}\n"));
/// assert_eq!(log.dropped(), 0);
/// # drop(log);
/// # std::fs::remove_file(&file)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct JsonLines {
    queue: Option<SyncSender<Message>>,
    waiting: Arc<Waiting>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: AtomicUsize,
    dropped: AtomicU64,
}

enum Message {
    Event(Arc<Event>),
    /// Everything before this has been written when the sender is dropped.
    Flush(SyncSender<()>),
}

impl JsonLines {
    /// Starts a thread that writes to `out`, such as a file that is opened for appending.
    ///
    /// # Errors
    ///
    /// Fails if the system refuses to start a thread.
    pub fn new(out: impl Write + Send + 'static) -> io::Result<Self> {
        let (queue, messages) = sync_channel(MAX_EVENTS);
        let waiting = Arc::new(Waiting::default());
        let writer = Writer {
            messages,
            waiting: waiting.clone(),
            out: io::BufWriter::new(out),
            reported: 0,
        };
        let thread = std::thread::Builder::new().name("audit-log".into());
        Ok(Self {
            queue: Some(queue),
            waiting,
            writer: Some(thread.spawn(|| writer.run())?),
        })
    }

    /// Waits until all events so far are written.
    pub fn flush(&self) {
        let (done, wait) = sync_channel(0);
        if let Some(queue) = &self.queue
            && queue.send(Message::Flush(done)).is_ok()
        {
            // An error says that the writer has dropped its end, which is what this waits for.
            let _ = wait.recv();
        }
    }

    /// Returns how many events were dropped: too many were waiting, or writing failed.
    pub fn dropped(&self) -> u64 {
        self.waiting.dropped.load(Ordering::Relaxed)
    }
}

impl Sink for JsonLines {
    fn record(&self, event: Arc<Event>) {
        let size = event.size();
        let fits = self.waiting.bytes.fetch_add(size, Ordering::Relaxed) < MAX_BYTES;
        let queue = self.queue.as_ref().filter(|_| fits);
        if queue.is_none_or(|queue| queue.try_send(Message::Event(event)).is_err()) {
            self.waiting.bytes.fetch_sub(size, Ordering::Relaxed);
            self.waiting.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn lost(&self) -> u64 {
        self.dropped()
    }
}

impl Drop for JsonLines {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(writer) = self.writer.take() {
            // The writer does not panic, and there is nobody left to tell.
            let _ = writer.join();
        }
    }
}

struct Writer<W: Write> {
    messages: Receiver<Message>,
    waiting: Arc<Waiting>,
    out: io::BufWriter<W>,
    /// The number of dropped events that have been logged.
    reported: u64,
}

impl<W: Write> Writer<W> {
    fn run(mut self) {
        loop {
            let message = match self.messages.try_recv() {
                Ok(message) => message,
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) => {
                    self.finish_batch();
                    match self.messages.recv() {
                        Ok(message) => message,
                        Err(_) => break,
                    }
                }
            };
            match message {
                Message::Event(event) => self.write(&event),
                Message::Flush(done) => {
                    self.finish_batch();
                    drop(done);
                }
            }
        }
        self.finish_batch();
    }

    fn write(&mut self, event: &Event) {
        self.waiting
            .bytes
            .fetch_sub(event.size(), Ordering::Relaxed);
        let mut line = event.to_json();
        line.push('\n');
        if let Err(error) = self.out.write_all(line.as_bytes()) {
            self.failed(&error);
        }
    }

    /// Flushes the writer, and logs how many events were dropped since the last call.
    fn finish_batch(&mut self) {
        if let Err(error) = self.out.flush() {
            self.failed(&error);
        }
        let dropped = self.waiting.dropped.load(Ordering::Relaxed);
        if dropped > self.reported {
            let now = dropped - self.reported;
            tracing::warn!(now, dropped, "audit events were dropped");
            self.reported = dropped;
        }
    }

    fn failed(&mut self, error: &io::Error) {
        tracing::error!(%error, "the audit log cannot be written");
        self.waiting.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use parking_lot::Mutex;

    use super::*;

    /// A file that is read while it is written.
    #[derive(Clone, Default)]
    struct Text(Arc<Mutex<Vec<u8>>>);

    impl Write for Text {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn event(id: usize) -> Arc<Event> {
        let audit_id = id.to_string();
        Arc::new(Event {
            audit_id,
            ..Event::default()
        })
    }

    #[test]
    fn each_event_is_one_line_and_dropping_the_sink_writes_the_rest() {
        let text = Text::default();
        let log = JsonLines::new(text.clone()).expect("a thread");
        for id in 0..100 {
            log.record(event(id));
        }
        drop(log);
        let written = String::from_utf8(text.0.lock().clone()).expect("text");
        let ids: Vec<String> = written
            .lines()
            .map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
                line["auditID"].as_str().unwrap_or_default().to_owned()
            })
            .collect();
        let expected: Vec<String> = (0..100).map(|id| id.to_string()).collect();
        assert_eq!(ids, expected);
    }

    /// A pipe without a reader: the first write blocks until the end of the test.
    struct Stuck(mpsc::Receiver<()>);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns a sink that cannot write until the other value is dropped.
    fn stuck() -> (JsonLines, mpsc::Sender<()>) {
        let (release, stuck) = mpsc::channel();
        (JsonLines::new(Stuck(stuck)).expect("a thread"), release)
    }

    #[test]
    fn a_stuck_file_drops_events_and_delays_no_request() {
        let (log, release) = stuck();
        // Some events are in the buffer of the writer.
        for id in 0..MAX_EVENTS + 1000 {
            log.record(event(id));
        }
        let dropped = log.dropped();
        drop(release);
        assert!(dropped >= 500, "{dropped}");
    }

    #[test]
    fn large_events_wait_only_up_to_a_number_of_bytes() {
        let (log, release) = stuck();
        for _ in 0..10 {
            log.record(Arc::new(Event {
                request_object: Some(format!("\"{}\"", "x".repeat(MAX_BYTES / 4)).into()),
                ..Event::default()
            }));
        }
        let dropped = log.dropped();
        drop(release);
        assert!(dropped >= 4, "{dropped}");
    }

    /// A full disk.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn events_that_cannot_be_written_are_counted() {
        let log = JsonLines::new(Full).expect("a thread");
        log.record(event(1));
        log.flush();
        assert!(log.dropped() >= 1);
    }
}
