//! [`StorageStore`]: an adapter that makes a [`Storage`] a store, so that the generic registry can write and watch it.

use std::{ops::ControlFlow, sync::Arc};

use async_trait::async_trait;
use kubewright_machinery::{
    Status,
    status::{self, Reason},
};
use kubewright_store::{
    BackendError, Change, ChangeKind, Entry, Key, Page, Payload, Range, ReadError, Revision,
    Snapshot, Store, Updated, Watch, WatchError, WriteError,
};

use crate::{
    changes::{self, Changes},
    guard,
    storage::{ListQuery, ServedKind, Storage},
};

/// The size of a page when everything is listed.
const PAGE: usize = 500;
/// The maximum number of pages of a list.
const MAX_PAGES: usize = 100_000;

/// A storage as a store with a single collection.
pub(crate) struct StorageStore<K> {
    storage: Arc<dyn Storage<K>>,
}

impl<K: ServedKind> StorageStore<K> {
    pub(crate) fn new(storage: Arc<dyn Storage<K>>) -> Self {
        Self { storage }
    }

    /// Returns all objects, or those of a namespace, sorted by path, and the version of the data.
    async fn all(&self, namespace: Option<String>) -> Result<(Vec<Entry>, u64), Status> {
        let mut query = ListQuery {
            namespace,
            limit: Some(PAGE),
            ..ListQuery::default()
        };
        let mut entries = Vec::new();
        for _ in 0..MAX_PAGES {
            let page = self.storage.list(&query).await?;
            for object in &page.items {
                entries.push(self.entry(&**object)?);
            }
            if page.next.is_none() {
                entries.sort_by(|a, b| a.path.cmp(&b.path));
                return Ok((entries, page.version));
            }
            if page.next == query.start {
                break;
            }
            query.start = page.next;
        }
        Err(status::internal("the storage returns pages without an end"))
    }

    fn entry(&self, object: &K) -> Result<Entry, Status> {
        let meta = object.meta();
        let text = meta.resource_version.as_deref().unwrap_or_default();
        let revision = match text {
            "" => 0,
            text => text.parse().map_err(|_| {
                status::internal(format!(
                    "the storage returned an object with the resourceVersion {text:?}, which is not a number"
                ))
            })?,
        };
        let verbs = self.storage.verbs();
        if revision == 0 && (verbs.update || verbs.watch) {
            return Err(status::internal(
                "the storage returned an object without a resourceVersion, which updates and watches need",
            ));
        }
        Ok(Entry {
            path: path_of(object),
            revision: Revision(revision),
            bytes: serde_json::to_vec(object).map_err(status::internal)?.into(),
            decoded: None,
        })
    }

    async fn read(&self, key: &Key) -> Result<Option<(K, Entry)>, Status> {
        let (namespace, name) = parts(&key.path);
        let Some(object) = self.storage.get_shared(namespace, name).await? else {
            return Ok(None);
        };
        let object = Arc::unwrap_or_clone(object);
        check_path(&object, &key.path)?;
        let entry = self.entry(&object)?;
        Ok(Some((object, entry)))
    }

    /// Returns the current object if it is at the expected revision, or a conflict.
    async fn expect(&self, key: &Key, expected: Revision) -> Result<(K, Entry), WriteError> {
        match self.read(key).await.map_err(write_failure)? {
            Some((object, entry)) if entry.revision == expected => Ok((object, entry)),
            other => Err(WriteError::Conflict(other.map(|(_, entry)| entry))),
        }
    }
}

/// Returns the path of an object in its collection.
fn path_of<K: ServedKind>(object: &K) -> Arc<str> {
    let meta = object.meta();
    let name = meta.name.as_deref().unwrap_or_default();
    match meta.namespace.as_deref() {
        Some(namespace) if !namespace.is_empty() => format!("{namespace}/{name}").into(),
        _ => name.into(),
    }
}

/// Returns the namespace and name of a path.
fn parts(path: &str) -> (&str, &str) {
    path.split_once('/').unwrap_or(("", path))
}

/// Checks that the storage returned the requested object.
pub(crate) fn check_path<K: ServedKind>(object: &K, expected: &str) -> Result<(), Status> {
    let actual = path_of(object);
    if *actual == *expected {
        return Ok(());
    }
    Err(status::internal(format!(
        "the storage was asked for {expected:?} and returned {actual:?}"
    )))
}

fn backend(status: Status) -> BackendError {
    Box::new(status)
}

fn read_failure(status: Status) -> ReadError {
    ReadError::Backend(backend(status))
}

fn write_failure(status: Status) -> WriteError {
    WriteError::Backend(backend(status))
}

fn decode<K: ServedKind>(payload: &Payload, revision: Revision) -> Result<K, WriteError> {
    let decoded = serde_json::from_slice(&payload.spliced(revision));
    decoded.map_err(|e| {
        write_failure(status::internal(format!(
            "the schema allows an object that the type does not: {e}"
        )))
    })
}

#[async_trait]
impl<K: ServedKind> Store for StorageStore<K> {
    async fn current(&self) -> Result<Revision, ReadError> {
        let version = self.storage.version().await;
        version.map(Revision).map_err(read_failure)
    }

    async fn snapshot(&self, at: Option<Revision>) -> Result<Arc<dyn Snapshot>, ReadError> {
        let (entries, version) = self.all(None).await.map_err(read_failure)?;
        let current = Revision(version);
        match at {
            Some(requested) if requested > current => Err(ReadError::Future { requested, current }),
            // The storage has only its current state.
            Some(requested) if requested < current => Err(ReadError::Compacted {
                requested,
                floor: current,
            }),
            _ => Ok(Arc::new(Listed {
                entries,
                revision: current,
            })),
        }
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, ReadError> {
        let found = self.read(key).await.map_err(read_failure)?;
        Ok(found.map(|(_, entry)| entry))
    }

    async fn create(&self, key: Key, payload: Payload) -> Result<Entry, WriteError> {
        let mut object: K = decode(&payload, Revision(0))?;
        object.meta_mut().resource_version = None;
        match self.storage.create(object).await {
            Ok(created) => {
                check_path(&created, &key.path).map_err(write_failure)?;
                self.entry(&created).map_err(write_failure)
            }
            Err(e) if e.reason == Reason::AlreadyExists => {
                match self.read(&key).await.map_err(write_failure)? {
                    Some((_, existing)) => Err(WriteError::Exists(existing)),
                    None => Err(write_failure(e)),
                }
            }
            Err(e) => Err(write_failure(e)),
        }
    }

    async fn update(
        &self,
        key: Key,
        expected: Revision,
        payload: Payload,
    ) -> Result<Updated, WriteError> {
        let (_, current) = self.expect(&key, expected).await?;
        let object: K = decode(&payload, expected)?;
        let wanted = self.entry(&object).map_err(write_failure)?;
        if wanted.bytes == current.bytes {
            return Ok(Updated {
                entry: current,
                changed: false,
            });
        }
        match self.storage.update(object).await {
            Ok(updated) => {
                check_path(&updated, &key.path).map_err(write_failure)?;
                Ok(Updated {
                    entry: self.entry(&updated).map_err(write_failure)?,
                    changed: true,
                })
            }
            Err(e) => self.lost(&key, e).await,
        }
    }

    async fn delete(&self, key: Key, expected: Revision) -> Result<Entry, WriteError> {
        let (object, last) = self.expect(&key, expected).await?;
        match self.storage.delete(&object).await {
            Ok(()) => Ok(last),
            Err(e) => self.lost(&key, e).await,
        }
    }

    async fn watch(
        &self,
        _collection: &str,
        prefix: &str,
        after: Revision,
    ) -> Result<Box<dyn Watch>, ReadError> {
        match self.storage.watch(after.0).await {
            Ok(changes) => Ok(Box::new(Watched {
                store: Self::new(self.storage.clone()),
                changes,
                prefix: prefix.to_owned(),
                progress: after,
            })),
            Err(e) if e.code == 410 => Err(ReadError::Compacted {
                requested: after,
                floor: self.current().await?,
            }),
            Err(e) => Err(read_failure(e)),
        }
    }

    async fn compact(&self, _floor: Revision) -> Result<(), ReadError> {
        // The storage has no history.
        Ok(())
    }
}

impl<K: ServedKind> StorageStore<K> {
    /// Returns the error of a write: a conflict if another client changed or deleted the object.
    async fn lost<T>(&self, key: &Key, error: Status) -> Result<T, WriteError> {
        match error.reason {
            Reason::Conflict | Reason::NotFound => {
                let current = self.read(key).await.map_err(write_failure)?;
                Err(WriteError::Conflict(current.map(|(_, entry)| entry)))
            }
            _ => Err(write_failure(error)),
        }
    }
}

/// The contents of a storage at some point.
struct Listed {
    entries: Vec<Entry>,
    revision: Revision,
}

impl Listed {
    fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a Entry> {
        let all = self.entries.iter();
        all.filter(move |entry| entry.path.starts_with(prefix))
    }
}

#[async_trait]
impl Snapshot for Listed {
    fn revision(&self) -> Revision {
        self.revision
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, ReadError> {
        let found = self.entries.iter().find(|entry| entry.path == key.path);
        Ok(found.cloned())
    }

    async fn range(&self, _collection: &str, range: Range) -> Result<Page, ReadError> {
        let from = self
            .with_prefix(&range.prefix)
            .filter(|entry| *entry.path >= *range.start);
        let mut entries: Vec<Entry> = from.cloned().collect();
        let limit = if range.limit == 0 {
            usize::MAX
        } else {
            range.limit
        };
        let remaining = entries.len().saturating_sub(limit) as u64;
        entries.truncate(limit);
        Ok(Page { entries, remaining })
    }

    async fn count(&self, _collection: &str, prefix: &str) -> Result<u64, ReadError> {
        Ok(self.with_prefix(prefix).count() as u64)
    }
}

/// The changes of a storage.
struct Watched<K> {
    store: StorageStore<K>,
    changes: Changes<K>,
    prefix: String,
    progress: Revision,
}

impl<K: ServedKind> Watched<K> {
    /// Takes one change of the storage: `Continue` if it is in another namespace. A client that continues at the version of a
    /// change would miss what comes later with a smaller one.
    fn take(&mut self, change: changes::Change<K>) -> Result<ControlFlow<Arc<Change>>, Status> {
        let entry = self.store.entry(&change.object)?;
        let (revision, last) = (entry.revision, self.progress);
        if revision <= last {
            return Err(status::internal(format!(
                "the storage returned a change with the resourceVersion {} after {}, but versions must grow",
                revision.0, last.0
            )));
        }
        self.progress = revision;
        if !entry.path.starts_with(&self.prefix) {
            return Ok(ControlFlow::Continue(()));
        }
        let previous = change.previous.as_ref().map(|old| self.store.entry(old));
        Ok(ControlFlow::Break(Arc::new(Change {
            revision,
            entry,
            previous: previous.transpose()?,
            kind: match change.kind {
                changes::ChangeKind::Created => ChangeKind::Created,
                changes::ChangeKind::Updated => ChangeKind::Updated,
                changes::ChangeKind::Deleted => ChangeKind::Deleted,
            },
        })))
    }
}

#[async_trait]
impl<K: ServedKind> Watch for Watched<K> {
    async fn next(&mut self) -> Result<Vec<Arc<Change>>, WatchError> {
        loop {
            let change = match guard::next(&mut self.changes).await {
                Err(panicked) => return Err(WatchError::Backend(Box::new(panicked))),
                Ok(Some(Ok(change))) => change,
                Ok(Some(Err(e))) if e.code == 410 => {
                    let floor = self.store.current().await;
                    let floor = floor.map_err(|e| WatchError::Backend(Box::new(e)))?;
                    return Err(WatchError::Lagged { floor });
                }
                Ok(Some(Err(e))) => return Err(WatchError::Backend(backend(e))),
                Ok(None) => return Err(WatchError::Closed),
            };
            let taken = self.take(change);
            match taken.map_err(|e| WatchError::Backend(backend(e)))? {
                ControlFlow::Break(change) => return Ok(vec![change]),
                ControlFlow::Continue(()) => {}
            }
        }
    }

    fn progress(&self) -> Revision {
        self.progress
    }
}
