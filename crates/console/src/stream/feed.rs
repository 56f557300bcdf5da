//! [`Feeds`]: the data that tabs display. Tabs share feeds, and a feed runs as long as a tab uses it.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::watch, task::JoinHandle};

use crate::own::Own;

use super::{
    poll::Answer,
    table::{Source, TableState},
};

/// The state of a feed with a counter of its changes, and the task that updates it.
pub(crate) struct Feed<T> {
    state: Mutex<T>,
    changes: watch::Sender<u64>,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// All feeds.
pub(crate) struct Feeds {
    own: Arc<Own>,
    tables: Mutex<HashMap<Source, Weak<Feed<TableState>>>>,
    polls: Mutex<HashMap<String, Weak<Feed<Answer>>>>,
}

impl<T: Default + Send + 'static> Feed<T> {
    fn start<F>(run: impl FnOnce(Weak<Self>) -> F) -> Arc<Self>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let feed = Arc::new(Self {
            state: Mutex::default(),
            changes: watch::Sender::new(0),
            task: Mutex::default(),
        });
        let task = tokio::spawn(run(Arc::downgrade(&feed)));
        *feed.task.lock() = Some(task);
        feed
    }

    /// Changes the state and wakes the tabs.
    pub(crate) fn change(&self, change: impl FnOnce(&mut T)) {
        change(&mut self.state.lock());
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Reads the state.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.state.lock())
    }

    /// Returns a receiver of changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

impl<T> Drop for Feed<T> {
    fn drop(&mut self) {
        if let Some(task) = self.task.get_mut().take() {
            task.abort();
        }
    }
}

impl Feeds {
    pub(crate) fn new(own: Arc<Own>) -> Self {
        Self {
            own,
            tables: Mutex::default(),
            polls: Mutex::default(),
        }
    }

    pub(crate) fn table(&self, source: &Source) -> Arc<Feed<TableState>> {
        shared(&self.tables, source, |feed| {
            super::table::keep(self.own.client.clone(), source.clone(), feed)
        })
    }

    pub(crate) fn poll(&self, path: &str, every: Duration) -> Arc<Feed<Answer>> {
        shared(&self.polls, &path.to_owned(), |feed| {
            super::poll::keep(self.own.clone(), path.to_owned(), every, feed)
        })
    }
}

/// Returns the feed of a key, which is started unless it is running.
fn shared<K, T, F>(
    feeds: &Mutex<HashMap<K, Weak<Feed<T>>>>,
    key: &K,
    run: impl FnOnce(Weak<Feed<T>>) -> F,
) -> Arc<Feed<T>>
where
    K: Clone + Eq + std::hash::Hash,
    T: Default + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let mut feeds = feeds.lock();
    feeds.retain(|_, feed| feed.strong_count() > 0);
    if let Some(feed) = feeds.get(key).and_then(Weak::upgrade) {
        return feed;
    }
    let feed = Feed::start(run);
    feeds.insert(key.clone(), Arc::downgrade(&feed));
    feed
}
