//! [`Replay`]: scripted responses, faults included.
//!
//! The script has a response for each list and each watch, in order: failures, chunks of bytes, pauses, broken
//! connections. Requests are recorded. After the end of the script, requests hang.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream;
use kube::core::Status;
use kubewright_client::stream::{ByteStream, OpenError};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{ListRequest, ListerWatcher, WatchRequest};

/// Plays scripted responses. Clones share the script.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::{sync::Arc, time::Duration};
/// use kube::core::{ApiResource, DynamicObject};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_informer::{InformerConfig, SharedInformer, replay::{Response, Replay}};
///
/// let list = r#"{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a","resourceVersion":"5"}}]}"#;
/// let replay = Replay::new().without_watch_list().list(Response::bytes(list));
/// let resource = ApiResource::erase::<ConfigMap>(&());
/// let informer = SharedInformer::<DynamicObject>::new(resource, vec![Arc::new(replay)], InformerConfig::default());
/// informer.start();
/// informer.wait_for_sync(Duration::from_secs(10)).await.unwrap();
/// assert_eq!(informer.resource_version().as_deref(), Some("7"));
/// # });
/// ```
#[derive(Clone, Default)]
pub struct Replay(Arc<Script>);

/// A scripted response.
#[derive(Clone, Debug, Default)]
pub struct Response(Vec<Step>);

/// A recorded request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedRequest {
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
    lists: Mutex<VecDeque<Response>>,
    watches: Mutex<VecDeque<Response>>,
    asked: watch::Sender<Vec<RecordedRequest>>,
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
    /// Creates an empty script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares that watches cannot begin with the existing objects.
    #[must_use]
    pub fn without_watch_list(self) -> Self {
        *self.0.no_watch_list.lock() = true;
        self
    }

    /// Adds the response to the next list.
    #[must_use]
    pub fn list(self, answer: Response) -> Self {
        self.0.lists.lock().push_back(answer);
        self
    }

    /// Adds the response to the next watch.
    #[must_use]
    pub fn watch(self, answer: Response) -> Self {
        self.0.watches.lock().push_back(answer);
        self
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.0.asked.borrow().clone()
    }

    /// Waits for that many requests.
    pub async fn wait_for_requests(&self, count: usize) -> Vec<RecordedRequest> {
        let mut asked = self.0.asked.subscribe();
        match asked.wait_for(|asked| asked.len() >= count).await {
            Ok(asked) => asked.clone(),
            Err(_) => Vec::new(),
        }
    }

    async fn play(
        &self,
        asked: RecordedRequest,
        script: &Mutex<VecDeque<Response>>,
    ) -> Result<ByteStream, OpenError> {
        let answer = script.lock().pop_front();
        self.0.asked.send_modify(|all| all.push(asked));
        let mut steps = VecDeque::from(answer.unwrap_or_default().0);
        if steps.is_empty() {
            steps.push_back(Step::Hang);
        }
        // There is no response before the first byte.
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
    }
}

#[async_trait]
impl ListerWatcher for Replay {
    async fn list(&self, request: ListRequest) -> Result<ByteStream, OpenError> {
        self.play(RecordedRequest::List(request), &self.0.lists)
            .await
    }

    async fn watch(&self, request: WatchRequest) -> Result<ByteStream, OpenError> {
        self.play(RecordedRequest::Watch(request), &self.0.watches)
            .await
    }

    fn supports_watch_list(&self) -> bool {
        !*self.0.no_watch_list.lock()
    }
}

impl Response {
    /// A response that begins with these bytes.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Self::default().then(bytes)
    }

    /// A failure.
    pub fn refuse(status: Status) -> Self {
        Self(vec![Step::Refuse(Box::new(status), None)])
    }

    /// A failure with a time to wait.
    pub fn refuse_for(status: Status, retry_after: Duration) -> Self {
        Self(vec![Step::Refuse(Box::new(status), Some(retry_after))])
    }

    /// A refused connection.
    pub fn no_connection() -> Self {
        Self(vec![Step::NoConnection])
    }

    /// A response without a byte, which ends at once.
    pub fn empty() -> Self {
        Self::bytes(Bytes::new())
    }

    /// Adds bytes.
    #[must_use]
    pub fn then(mut self, bytes: impl Into<Bytes>) -> Self {
        self.0.push(Step::Chunk(bytes.into()));
        self
    }

    /// Adds a pause.
    #[must_use]
    pub fn pause(mut self, time: Duration) -> Self {
        self.0.push(Step::Pause(time));
        self
    }

    /// Breaks the connection.
    #[must_use]
    pub fn breaks(mut self, why: &'static str) -> Self {
        self.0.push(Step::Break(why));
        self
    }

    /// Leaves the response open without sending anything more.
    #[must_use]
    pub fn hangs(mut self) -> Self {
        self.0.push(Step::Hang);
        self
    }

    /// Cuts the bytes into chunks of that size.
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
