//! Replacing the content as a whole, for an engine that has missed changes and cannot get them any more.

use std::{sync::Arc, task::Waker};

use super::{
    engine::{Staged, Stored},
    log::Log,
    state::State,
};
use crate::{Key, Revision};

impl Staged {
    /// Replaces the contents by objects at a revision, and publishes them at once. Changes cannot be distinguished from each other then,
    /// so every watch ends with [`Lagged`](crate::WatchError::Lagged), and nothing before the revision can be read.
    ///
    /// ```
    /// use kubewright_store::{Key, MemoryStore, Payload, Revision, Store, WatchError, engine::{Staged, Stored}};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let published = MemoryStore::new();
    /// let mut staged = Staged::of(&published);
    /// let mut watch = published.watch("pods", "", Revision(0)).await?;
    /// let object = Stored {
    ///     path: "default/web".into(),
    ///     revision: Revision(7),
    ///     bytes: "{}".into(),
    ///     revision_at: None,
    ///     lifetime: None,
    /// };
    /// staged.replace(Revision(9), [("pods".into(), object)]);
    /// assert_eq!(published.current().await?, Revision(9));
    /// assert!(published.get(&Key::new("pods", "default/web")).await?.is_some());
    /// assert!(matches!(watch.next().await, Err(WatchError::Lagged { .. })));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn replace(
        &mut self,
        revision: Revision,
        objects: impl IntoIterator<Item = (Arc<str>, Stored)>,
    ) {
        let before = std::mem::replace(&mut self.state, State::starting_at(revision));
        self.commits.clear();
        for (collection, mut stored) in objects {
            let key = Key {
                collection: Arc::clone(&collection),
                path: Arc::clone(&stored.path),
            };
            // What did not change keeps its memory.
            if let Some((path, version)) = before.head(&key)
                && version.revision == stored.revision
                && let Some(content) = &version.content
                && content.bytes == stored.bytes
            {
                stored.path = Arc::clone(path);
                stored.bytes = content.bytes.clone();
            }
            self.load(&collection, stored);
        }
        let mut published = self.inner.state.write();
        let hubs = self.inner.hubs.read();
        // A position that no watcher has reached yet, so that all of them are behind.
        let ends = published.change_counts();
        let watched = hubs.keys().map(|name| (Arc::clone(name), 0));
        for (name, end) in watched.chain(ends) {
            let log = Arc::new(Log::starting_at(end + 1));
            self.state.logs.insert(name, log);
        }
        let replaced = std::mem::replace(&mut *published, self.state.clone());
        let woken: Vec<Waker> = hubs.values().flat_map(|hub| hub.disarm_all()).collect();
        drop(hubs);
        drop(published);
        drop(replaced);
        drop(before);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Forgets the states before a revision, which others have compacted: snapshots of them answer
    /// [`ReadError::Compacted`](crate::ReadError::Compacted). The changes since then stay, so watches resume as before.
    pub fn forget_states(&mut self, floor: Revision) {
        let floor = floor.min(self.state.current);
        self.state.state_floor = self.state.state_floor.max(floor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryStore, Payload, Store, WatchError};

    fn stored(path: &str, revision: u64) -> Stored {
        Stored {
            path: path.into(),
            revision: Revision(revision),
            bytes: "{}".into(),
            revision_at: None,
            lifetime: None,
        }
    }

    #[tokio::test]
    async fn one_watch_lags_and_another_continues_from_the_new_state() {
        let store = MemoryStore::new();
        let mut staged = Staged::of(&store);
        let key = Key::new("pods", "a");
        staged.create(key.clone(), Payload::plain("{}")).unwrap();
        staged.take().publish();
        // One has seen everything, one has not, and one watches what was never written.
        let mut behind = store.watch("pods", "", Revision(0)).await.unwrap();
        let mut current = store.watch("pods", "", Revision(1)).await.unwrap();
        let mut quiet = store.watch("nodes", "", Revision(1)).await.unwrap();
        let waiting = tokio::spawn(async move { quiet.next().await });
        tokio::task::yield_now().await;

        let objects = [
            ("pods".into(), stored("a", 1)),
            ("pods".into(), stored("b", 5)),
        ];
        staged.replace(Revision(6), objects);
        for ended in [
            behind.next().await,
            current.next().await,
            waiting.await.unwrap(),
        ] {
            assert!(matches!(ended, Err(WatchError::Lagged { .. })));
        }
        let mut again = store.watch("pods", "", Revision(6)).await.unwrap();
        let entry = store.get(&key).await.unwrap().unwrap();
        assert_eq!(entry.revision, Revision(1));
        staged.delete(key, entry.revision).unwrap();
        staged.take().publish();
        let changes = again.next().await.unwrap();
        assert_eq!(changes[0].revision, Revision(7));
        assert!(store.snapshot(Some(Revision(5))).await.is_err());
        let then = store.snapshot(Some(Revision(6))).await.unwrap();
        assert_eq!(then.count("pods", "").await.unwrap(), 2);
    }

    #[tokio::test]
    async fn the_progress_of_a_watch_is_not_in_the_middle_of_a_revision() {
        use crate::engine::Applied;

        let store = MemoryStore::new();
        let mut staged = Staged::of(&store);
        let mut watch = store.watch("events", "", Revision(0)).await.unwrap();
        let write = |n: usize| Applied {
            key: Key::new("events", format!("{n:05}")),
            payload: Some(Payload::plain("{}")),
            deadline: None,
        };
        let at = tokio::time::Instant::now();
        staged.apply(Revision(4), (0..700).map(write), at).unwrap();
        staged.take().publish();
        let first = watch.next().await.unwrap().len();
        assert!(first < 700);
        assert_eq!(watch.progress(), Revision(3));
        let second = watch.next().await.unwrap().len();
        assert_eq!((first + second, watch.progress()), (700, Revision(4)));
    }
}
