//! One stream for each tab.
//!
//! Browsers open at most six HTTP/1.1 connections to a host, so that a tab has a single stream for everything it displays, as
//! lines of JSON. It sets its subscriptions by POST, always all of them. Changes are sent immediately, but at most five times
//! per second: several changes in between are combined into one with the latest state. Therefore, a slow tab does not make the
//! server buffer anything.
//!
//! | module | contents |
//! |---|---|
//! | [`Hub`] | all tabs |
//! | `subscription` | the subscriptions of a tab |
//! | `tab` | the task of a tab: pace and timeouts |
//! | `feed` | the data that tabs display, shared between them |
//! | `table` | the rows of a resource, kept up to date by a watch |
//! | `poll` | a response that is polled every second |
//! | `window` | the visible rows of a tab, and the difference to those that it has |

mod feed;
mod poll;
mod subscription;
mod tab;
mod table;
mod window;

use std::{collections::HashMap, sync::Arc};

use futures_util::stream;
use http::{HeaderValue, Response, StatusCode, header};
use kubewright_serve::OpenEnded;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::{mpsc, watch};

use crate::{
    answer::{self, Body},
    own::Own,
};
use feed::Feeds;
use subscription::Wanted;
pub(crate) use table::read_table;

/// The maximum number of tabs.
const TABS: usize = 32;

/// The number of messages in flight to a tab, in addition to those in the system's buffers.
const IN_FLIGHT: usize = 2;

/// All tabs.
pub(crate) struct Hub {
    feeds: Arc<Feeds>,
    tabs: Arc<Mutex<Tabs>>,
}

#[derive(Default)]
struct Tabs {
    wanted: HashMap<String, watch::Sender<Arc<Wanted>>>,
}

/// Removes a tab when its stream ends.
struct Registered {
    tabs: Arc<Mutex<Tabs>>,
    id: String,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.tabs.lock().wanted.remove(&self.id);
    }
}

impl Hub {
    pub(crate) fn new(own: Arc<Own>) -> Self {
        Self {
            feeds: Arc::new(Feeds::new(own)),
            tabs: Arc::default(),
        }
    }

    /// Opens the stream of a new tab.
    pub(crate) fn open(&self) -> Response<Body> {
        let id = format!("{:032x}", rand::random::<u128>());
        let wants = watch::Sender::new(Arc::new(Wanted::default()));
        let wanted = wants.subscribe();
        {
            let mut tabs = self.tabs.lock();
            if tabs.wanted.len() >= TABS {
                let message = format!("{TABS} tabs are open already: close one");
                return answer::failure(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", &message);
            }
            tabs.wanted.insert(id.clone(), wants);
        }
        let registered = Registered {
            tabs: self.tabs.clone(),
            id: id.clone(),
        };
        let (sender, receiver) = mpsc::channel(IN_FLIGHT);
        let feeds = self.feeds.clone();
        tokio::spawn(async move {
            let _registered = registered;
            tab::run(feeds, wanted, sender).await;
        });
        let hello = tab::line(&json!({"type": "hello", "tab": id}));
        let lines = stream::unfold((Some(hello), receiver), async |(first, mut receiver)| {
            let line = match first {
                Some(first) => first,
                None => receiver.recv().await?,
            };
            Some((line, (None, receiver)))
        });
        let mut response = Response::new(answer::chunks(lines));
        let ndjson = HeaderValue::from_static("application/x-ndjson");
        response.headers_mut().insert(header::CONTENT_TYPE, ndjson);
        response.extensions_mut().insert(OpenEnded);
        response
    }

    /// Sets the subscriptions of a tab.
    pub(crate) fn subscribe(&self, tab: &str, body: &[u8]) -> Response<Body> {
        let wanted = match Wanted::parse(body) {
            Ok(wanted) => wanted,
            Err(message) => {
                return answer::failure(StatusCode::BAD_REQUEST, "BadRequest", &message);
            }
        };
        match self.tabs.lock().wanted.get(tab) {
            Some(wants) => {
                wants.send_replace(Arc::new(wanted));
                answer::json_response(StatusCode::OK, &json!({}))
            }
            None => answer::failure(
                StatusCode::NOT_FOUND,
                "NotFound",
                "the stream of this tab has ended: open it again",
            ),
        }
    }
}
