//! [`ParamCache`]: parameters that were read before, as long as the store still holds the same.
//!
//! For each collection of parameters, a watch reports which of them changed. An answer is used again only if the watch has
//! reached the newest revision of the store, so that it is never older than the request. Otherwise the parameters are read.

use std::{
    collections::HashMap,
    future::Future,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use kubewright_apiserver::registry::Resource;
use kubewright_store::{Revision, Store, Watch, WatchError};
use parking_lot::Mutex;
use serde_json::Value;

/// The number of collections that are followed. With more, all are forgotten.
const MAX_COLLECTIONS: usize = 64;
/// The number of answers of a collection, and the bytes of their encoded objects. With more, all are forgotten.
const MAX_ANSWERS: usize = 256;
const MAX_BYTES: usize = 8 << 20;

/// Parameters, in the order of their names.
pub(super) type Found = Arc<[Arc<Value>]>;

/// Parameters as they were read, and the bytes of their encoded objects.
pub(super) struct Answer {
    pub(super) found: Found,
    pub(super) bytes: usize,
}

/// A question for parameters of one collection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Question {
    /// The version in which they are served.
    pub(super) version: String,
    /// The path of an object, or the prefix of the paths of several.
    pub(super) path: String,
    /// The selector of several objects, as JSON.
    pub(super) selector: Option<Arc<str>>,
}

/// The parameters that were read. Clones share them.
#[derive(Clone)]
pub(super) struct ParamCache {
    store: Arc<dyn Store>,
    collections: Arc<Mutex<HashMap<Arc<str>, Follower>>>,
}

/// The answers about a collection, and the changes of it.
struct Follower {
    watch: Box<dyn Watch>,
    /// The number of changes that were seen.
    changes: u64,
    answers: HashMap<Question, Known>,
    bytes: usize,
}

struct Known {
    /// The resource that served the answer. A CRD that is changed is served by another.
    resource: Arc<Resource>,
    answer: Answer,
}

/// The outcome of looking for an answer.
enum Lookup {
    Known(Found),
    /// The answer is not known because of too many changes of the collection.
    Unknown {
        changes: u64,
    },
    /// It is not known which changes the collection has had.
    Unfollowed,
}

impl Question {
    /// Reports whether a change of an object may change the answer.
    fn concerns(&self, path: &str) -> bool {
        match self.selector {
            Some(_) => path.starts_with(&self.path),
            None => path == self.path,
        }
    }
}

impl ParamCache {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            collections: Arc::default(),
        }
    }

    /// Returns the answer to a question, which is read unless it is known.
    pub(super) async fn get_or_read(
        &self,
        resource: &Arc<Resource>,
        question: Question,
        read: impl Future<Output = Result<Answer, String>>,
    ) -> Result<Found, String> {
        let Some(collection) = resource.collection() else {
            return Ok(read.await?.found);
        };
        let lookup = self.find(collection, resource, &question).await;
        if let Lookup::Known(found) = lookup {
            return Ok(found);
        }
        let answer = read.await?;
        let found = answer.found.clone();
        if let Lookup::Unknown { changes } = lookup {
            self.keep(collection, changes, question, resource, answer);
        }
        Ok(found)
    }

    /// Looks for an answer that is as new as the store.
    async fn find(
        &self,
        collection: &Arc<str>,
        resource: &Arc<Resource>,
        question: &Question,
    ) -> Lookup {
        let Ok(current) = self.store.current().await else {
            return Lookup::Unfollowed;
        };
        if !self.collections.lock().contains_key(collection) {
            let Ok(watch) = self.store.watch(collection, "", current).await else {
                return Lookup::Unfollowed;
            };
            let mut collections = self.collections.lock();
            if collections.len() >= MAX_COLLECTIONS {
                collections.clear();
            }
            let follower = collections.entry(collection.clone());
            follower.or_insert_with(|| Follower::new(watch));
        }
        let mut collections = self.collections.lock();
        let Some(follower) = collections.get_mut(collection) else {
            return Lookup::Unfollowed;
        };
        match follower.catch_up() {
            Err(_) => {
                collections.remove(collection);
                Lookup::Unfollowed
            }
            Ok(reached) if reached < current => Lookup::Unfollowed,
            Ok(_) => {
                let known = follower.answers.get(question);
                let known = known.filter(|known| Arc::ptr_eq(&known.resource, resource));
                match known {
                    Some(known) => Lookup::Known(known.answer.found.clone()),
                    None => Lookup::Unknown {
                        changes: follower.changes,
                    },
                }
            }
        }
    }

    /// Keeps an answer if the collection has not changed since it was asked for.
    fn keep(
        &self,
        collection: &str,
        changes: u64,
        question: Question,
        resource: &Arc<Resource>,
        answer: Answer,
    ) {
        let mut collections = self.collections.lock();
        let Some(follower) = collections.get_mut(collection) else {
            return;
        };
        match follower.catch_up() {
            Err(_) => drop(collections.remove(collection)),
            Ok(_) if follower.changes != changes => {}
            Ok(_) => follower.insert(question, resource, answer),
        }
    }
}

impl Follower {
    fn new(watch: Box<dyn Watch>) -> Self {
        Self {
            watch,
            changes: 0,
            answers: HashMap::new(),
            bytes: 0,
        }
    }

    /// Reads the changes that there are, and forgets the answers that they concern. Returns the revision up to which all were
    /// seen.
    fn catch_up(&mut self) -> Result<Revision, WatchError> {
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(changes) = self.watch.next().as_mut().poll(&mut context) {
            for change in changes? {
                self.changes += 1;
                let path = &*change.entry.path;
                let bytes = &mut self.bytes;
                self.answers.retain(|question, known| {
                    let is_kept = !question.concerns(path);
                    if !is_kept {
                        *bytes -= known.answer.bytes;
                    }
                    is_kept
                });
            }
        }
        Ok(self.watch.progress())
    }

    fn insert(&mut self, question: Question, resource: &Arc<Resource>, answer: Answer) {
        if answer.bytes > MAX_BYTES {
            return;
        }
        if self.answers.len() >= MAX_ANSWERS || self.bytes + answer.bytes > MAX_BYTES {
            self.answers.clear();
            self.bytes = 0;
        }
        self.bytes += answer.bytes;
        let known = Known {
            resource: resource.clone(),
            answer,
        };
        if let Some(replaced) = self.answers.insert(question, known) {
            self.bytes -= replaced.answer.bytes;
        }
    }
}

#[cfg(test)]
mod tests;
