//! The responses of the server: lists and watches.

use std::collections::VecDeque;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream;
use kubewright_client::stream::{ByteStream, OpenError};
use kubewright_informer::ListerWatcher;
use kubewright_informer::{ListRequest, WatchRequest};

use super::wire::{Step, bookmark, cut, frame, no_connection, play, too_large};
use super::{Change, Fault, Server, expired, status};
use crate::cut::{Cutter, Place};

#[async_trait]
impl ListerWatcher for Server {
    async fn list(&self, request: ListRequest) -> Result<ByteStream, OpenError> {
        self.answer_list(request)
    }

    async fn watch(&self, request: WatchRequest) -> Result<ByteStream, OpenError> {
        self.answer_watch(request)
    }
}

impl Server {
    fn answer_list(&self, request: ListRequest) -> Result<ByteStream, OpenError> {
        let mut state = self.0.state.lock();
        state.lists.push(request.clone());
        let fault = match state.list_faults.front() {
            Some(Fault::RefusePage(_)) if request.continue_token.is_empty() => Fault::None,
            _ => state.list_faults.pop_front().unwrap_or(Fault::None),
        };
        match &fault {
            Fault::Refuse(status) | Fault::RefusePage(status) => {
                return Err(OpenError::refused(status.clone()));
            }
            Fault::NoConnection => return Err(no_connection()),
            _ => {}
        }
        let stale = matches!(fault, Fault::Stale);
        let version = if stale {
            state.before_version
        } else {
            state.version
        };
        if !stale
            && request
                .resource_version
                .parse::<u64>()
                .is_ok_and(|v| v > version)
        {
            return Err(OpenError::refused(too_large()));
        }
        // A page begins after the name in its token.
        let objects = if stale { &state.before } else { &state.objects };
        let mut items: Vec<_> = objects
            .iter()
            .filter(|(name, _)| **name > request.continue_token)
            .map(|(name, object)| (name.clone(), object.json.clone()))
            .collect();
        let mut token = String::new();
        // Anything at hand comes whole, as from a cache.
        let whole = request.resource_version == "0" && !state.pages_everything;
        if let Some(limit) = request.limit.filter(|_| !whole)
            && items.len() > limit as usize
        {
            items.truncate(limit as usize);
            token = items
                .last()
                .map(|(name, _)| name.clone())
                .unwrap_or_default();
        }
        let items: Vec<_> = items.into_iter().map(|(_, json)| json).collect();
        let text = format!(
            r#"{{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{{"resourceVersion":"{version}","continue":"{token}"}},"items":[{}]}}"#,
            items.join(",")
        );
        let (place, end) = match &fault {
            Fault::Cut(place, true) => (Some(*place), Some(Step::Broken)),
            Fault::Cut(place, false) => (Some(*place), None),
            Fault::Silence(place) => (Some(*place), Some(Step::Hang)),
            Fault::Hang => (Some(Place::Byte(0)), Some(Step::Hang)),
            _ => (None, None),
        };
        let mut bytes = Bytes::from(text);
        let mut over = false;
        if let Some(place) = place {
            let mut cutter = Cutter::at(place);
            bytes = cutter.pass(&bytes);
            over = cutter.is_over();
        }
        let chunks = cut(&bytes, &fault, &mut state);
        let end = end.filter(|_| over);
        let steps: VecDeque<_> = chunks.into_iter().map(Step::Chunk).chain(end).collect();
        Ok(play(steps))
    }

    fn answer_watch(&self, request: WatchRequest) -> Result<ByteStream, OpenError> {
        let mut state = self.0.state.lock();
        state.watches.push(request.clone());
        if request.send_initial_events && !state.watch_list {
            return Err(OpenError::refused(status(422, "Invalid")));
        }
        let fault = state.watch_faults.pop_front().unwrap_or(Fault::None);
        let version = request.resource_version.parse::<u64>().unwrap_or(0);
        match &fault {
            Fault::Refuse(status) => return Err(OpenError::refused(status.clone())),
            Fault::NoConnection => return Err(no_connection()),
            Fault::Hang => return Ok(play([Step::Hang].into())),
            _ => {}
        }
        if version < state.floor && !request.send_initial_events {
            return Err(OpenError::refused(expired()));
        }
        let mut text = String::new();
        let mut cursor = version;
        // A watch from a revision that is not there yet is silent, but for bookmarks.
        if request.send_initial_events && version > state.version {
            let status = serde_json::to_string(&too_large()).unwrap();
            text += &frame("ERROR", &status);
        } else if request.send_initial_events {
            for object in state.objects.values() {
                text += &frame("ADDED", &object.json);
            }
            cursor = state.version;
            if !matches!(fault, Fault::NoMarker) {
                text += &bookmark(state.version, true);
            }
        }
        let watcher = Watcher {
            server: self.clone(),
            cursor,
            epoch: state.epoch,
            pending: cut(text.as_bytes(), &fault, &mut state).into(),
            cutter: match &fault {
                Fault::Cut(place, _) | Fault::Silence(place) => Some(Cutter::at(*place)),
                _ => None,
            },
            events: 0,
            fault,
            deadline: tokio::time::Instant::now() + request.timeout,
        };
        Ok(Box::pin(stream::unfold(watcher, Watcher::step)))
    }
}

/// One watch under way.
struct Watcher {
    server: Server,
    cursor: u64,
    epoch: u64,
    pending: VecDeque<Bytes>,
    /// The position at which it ends early.
    cutter: Option<Cutter>,
    events: usize,
    fault: Fault,
    deadline: tokio::time::Instant,
}

type Sent = Option<(
    Result<Bytes, Box<dyn std::error::Error + Send + Sync>>,
    Watcher,
)>;

impl Watcher {
    async fn step(mut self) -> Sent {
        loop {
            if let Some(chunk) = self.pending.pop_front() {
                return self.send(chunk).await;
            }
            let server = self.server.clone();
            let changed = server.0.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let epoch = {
                let mut state = server.0.state.lock();
                let next = state.log.iter().find(|c| c.version > self.cursor).cloned();
                if let Some(change) = next.filter(|_| state.epoch == self.epoch) {
                    self.cursor = change.version;
                    let text = self.text(&change);
                    self.pending = cut(text.as_bytes(), &self.fault, &mut state).into();
                    continue;
                }
                state.epoch
            };
            if epoch != self.epoch {
                return None;
            }
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep_until(self.deadline) => return None,
                () = tokio::time::sleep(Duration::from_secs(60)) => {
                    if !matches!(self.fault, Fault::NoBookmarks) {
                        let version = server.version();
                        self.pending.push_back(bookmark(version, false).into());
                    }
                }
            }
        }
    }

    fn text(&mut self, change: &Change) -> String {
        self.events += 1;
        let text = frame(change.event, &change.json);
        match &self.fault {
            Fault::ErrorEvent(after, status) if self.events > *after => {
                frame("ERROR", &serde_json::to_string(status).unwrap())
            }
            Fault::Bytes(after, bytes) if self.events > *after => (*bytes).to_owned(),
            Fault::Twice => text.repeat(2),
            Fault::AddedAgain => text.replacen("MODIFIED", "ADDED", 1),
            _ => text,
        }
    }

    async fn send(mut self, chunk: Bytes) -> Sent {
        let Some(cutter) = &mut self.cutter else {
            return Some((Ok(chunk), self));
        };
        if cutter.is_over() {
            return match self.fault {
                Fault::Cut(_, false) => None,
                Fault::Cut(place, true) => {
                    self.fault = Fault::Cut(place, false);
                    self.pending = [Bytes::new()].into();
                    Some((Err("connection reset by peer".into()), self))
                }
                _ => std::future::pending().await,
            };
        }
        let now = cutter.pass(&chunk);
        if now.len() < chunk.len() {
            self.pending.push_front(chunk.slice(now.len()..));
        }
        Some((Ok(now), self))
    }
}
