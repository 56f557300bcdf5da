//! [`Replay`]: answers written down beforehand, faults included.
//!
//! A script for each list and each watch that will be asked for, in order: refusals, chunks of bytes, pauses, broken
//! connections. Requests are remembered. When the script is over, requests hang.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream;
use kube::core::Status;
use kubewright_client::stream::{ByteStream, OpenError};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{ListRequest, ListerWatcher, WatchRequest};

/// Plays written answers. Clones share the script.
#[derive(Clone, Default)]
pub struct Replay(Arc<Script>);

/// One answer.
#[derive(Clone, Debug, Default)]
pub struct Answer(Vec<Step>);

/// A request that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A list.
    List(ListRequest),
    /// A watch.
    Watch(WatchRequest),
}

#[derive(Clone, Debug)]
enum Step {
    Refuse(Box<Status>, Option<Duration>),
    NoConnection,
    Chunk(Bytes),
    Pause(Duration),
    Break(&'static str),
    Hang,
}

struct Script {
    lists: Mutex<VecDeque<Answer>>,
    watches: Mutex<VecDeque<Answer>>,
    asked: watch::Sender<Vec<Asked>>,
    no_watch_list: Mutex<bool>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            lists: Mutex::default(),
            watches: Mutex::default(),
            asked: watch::Sender::new(Vec::new()),
            no_watch_list: Mutex::new(false),
        }
    }
}

impl Replay {
    /// A script without a word.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says that watches cannot begin with the objects there are.
    #[must_use]
    pub fn without_watch_list(self) -> Self {
        *self.0.no_watch_list.lock() = true;
        self
    }

    /// The answer to the next list that has none yet.
    #[must_use]
    pub fn list(self, answer: Answer) -> Self {
        self.0.lists.lock().push_back(answer);
        self
    }

    /// The answer to the next watch that has none yet.
    #[must_use]
    pub fn watch(self, answer: Answer) -> Self {
        self.0.watches.lock().push_back(answer);
        self
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.0.asked.borrow().clone()
    }

    /// Waits for that many requests.
    pub async fn asked_times(&self, count: usize) -> Vec<Asked> {
        let mut asked = self.0.asked.subscribe();
        match asked.wait_for(|asked| asked.len() >= count).await {
            Ok(asked) => asked.clone(),
            Err(_) => Vec::new(),
        }
    }

    fn play(
        &self,
        asked: Asked,
        script: &Mutex<VecDeque<Answer>>,
    ) -> BoxFuture<'_, Result<ByteStream, OpenError>> {
        let answer = script.lock().pop_front();
        self.0.asked.send_modify(|all| all.push(asked));
        Box::pin(async move {
            let mut steps = VecDeque::from(answer.unwrap_or_default().0);
            if steps.is_empty() {
                steps.push_back(Step::Hang);
            }
            // Until the first byte there is no answer.
            loop {
                match steps.front() {
                    Some(Step::Pause(time)) => {
                        let time = *time;
                        steps.pop_front();
                        tokio::time::sleep(time).await;
                    }
                    Some(Step::Refuse(status, retry_after)) => {
                        return Err(OpenError::Refused {
                            status: status.clone(),
                            retry_after: *retry_after,
                        });
                    }
                    Some(Step::NoConnection) => {
                        let error = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
                        return Err(OpenError::Transport(error.into()));
                    }
                    _ => return Ok(body(steps)),
                }
            }
        })
    }
}

impl ListerWatcher for Replay {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ByteStream, OpenError>> {
        self.play(Asked::List(request), &self.0.lists)
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<ByteStream, OpenError>> {
        self.play(Asked::Watch(request), &self.0.watches)
    }

    fn supports_watch_list(&self) -> bool {
        !*self.0.no_watch_list.lock()
    }
}

impl Answer {
    /// An answer that begins with these bytes.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Self::default().then(bytes)
    }

    /// A refusal.
    pub fn refuse(status: Status) -> Self {
        Self(vec![Step::Refuse(Box::new(status), None)])
    }

    /// A refusal with a time to wait.
    pub fn refuse_for(status: Status, retry_after: Duration) -> Self {
        Self(vec![Step::Refuse(Box::new(status), Some(retry_after))])
    }

    /// Nobody listens.
    pub fn no_connection() -> Self {
        Self(vec![Step::NoConnection])
    }

    /// An answer without a byte, which ends at once.
    pub fn empty() -> Self {
        Self::bytes(Bytes::new())
    }

    /// More bytes.
    #[must_use]
    pub fn then(mut self, bytes: impl Into<Bytes>) -> Self {
        self.0.push(Step::Chunk(bytes.into()));
        self
    }

    /// Nothing for a while.
    #[must_use]
    pub fn pause(mut self, time: Duration) -> Self {
        self.0.push(Step::Pause(time));
        self
    }

    /// The connection breaks.
    #[must_use]
    pub fn breaks(mut self, why: &'static str) -> Self {
        self.0.push(Step::Break(why));
        self
    }

    /// Nothing more, but no end either.
    #[must_use]
    pub fn hangs(mut self) -> Self {
        self.0.push(Step::Hang);
        self
    }

    /// The same bytes in chunks of that size.
    #[must_use]
    pub fn cut(self, size: usize) -> Self {
        let steps = self.0.into_iter().flat_map(|step| match step {
            Step::Chunk(bytes) => bytes
                .chunks(size.max(1))
                .map(|chunk| Step::Chunk(Bytes::copy_from_slice(chunk)))
                .collect(),
            other => vec![other],
        });
        Self(steps.collect())
    }
}

fn body(steps: VecDeque<Step>) -> ByteStream {
    Box::pin(stream::unfold(steps, |mut steps| async move {
        loop {
            match steps.pop_front()? {
                Step::Chunk(bytes) => return Some((Ok(bytes), steps)),
                Step::Pause(time) => tokio::time::sleep(time).await,
                Step::Break(why) => {
                    steps.clear();
                    return Some((Err(why.into()), steps));
                }
                Step::Hang => std::future::pending().await,
                Step::Refuse(..) | Step::NoConnection => return None,
            }
        }
    }))
}
