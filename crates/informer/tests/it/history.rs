//! [`History`]: a reader's events, checked against what a cache can report.
//!
//! The events are replayed into a model. Each must fit what was delivered before; what the model holds at the end must be what
//! the server holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_informer::Registration;
use kubewright_informer::{Cause, Event, SharedInformer, SubscribeOptions};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

/// The events that a reader has received.
#[derive(Clone, Default)]
pub(crate) struct History(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Key to uid and resourceVersion.
    model: BTreeMap<String, (String, String)>,
    told: Vec<String>,
    wrong: Vec<String>,
}

impl History {
    /// Records what a handler of `informer` receives.
    pub(crate) fn of<K>(
        informer: &SharedInformer<K>,
        options: SubscribeOptions,
    ) -> (Self, Registration)
    where
        K: DeserializeOwned + Send + Sync + 'static,
    {
        let history = Self::default();
        let recorded = history.clone();
        let registration =
            informer.add_handler_with(options, move |event: Event<K>| recorded.record(&event));
        (history, registration)
    }

    /// The objects that the reader believes to exist: key to UID and resource version.
    pub(crate) fn model(&self) -> BTreeMap<String, (String, String)> {
        self.0.lock().model.clone()
    }

    /// The events, one line each.
    pub(crate) fn told(&self) -> Vec<String> {
        self.0.lock().told.clone()
    }

    /// Nothing that it received contradicts what it received before.
    #[track_caller]
    pub(crate) fn assert_consistent(&self) {
        let state = self.0.lock();
        assert!(
            state.wrong.is_empty(),
            "{:#?}\nof {:#?}",
            state.wrong,
            state.told
        );
    }

    pub(crate) fn record<K>(&self, event: &Event<K>) {
        let mut state = self.0.lock();
        let key = event.key().to_string();
        let version = |o: &kubewright_informer::Cached<K>| {
            (o.uid().to_owned(), o.resource_version().to_owned())
        };
        let known = state.model.get(&key).cloned();
        let (line, fits) = match event {
            Event::Added { object, initial } => {
                let mark = if *initial { " (initial)" } else { "" };
                let line = format!("+ {key}@{}{mark}", object.resource_version());
                state.model.insert(key, version(object));
                (line, known.is_none())
            }
            Event::Updated {
                old,
                object: new,
                cause,
            } => {
                let line = format!(
                    "~ {key}@{}->{} {cause:?}",
                    old.resource_version(),
                    new.resource_version()
                );
                let same_uid = old.uid() == new.uid();
                // Where a deletion and a creation became one event, the state before is the deleted one.
                let told = match cause {
                    Cause::Recreated => known.as_ref().is_some_and(|known| known.0 == old.uid()),
                    _ => known == Some(version(old)),
                };
                let fits = told
                    && match cause {
                        Cause::Change => same_uid && version(old) != version(new),
                        Cause::Recreated => !same_uid,
                        Cause::Relist | Cause::Resync => version(old) == version(new),
                    };
                state.model.insert(key, version(new));
                (line, fits)
            }
            Event::Deleted {
                object: last,
                exact,
            } => {
                let line = format!("- {key}@{} exact={exact}", last.resource_version());
                state.model.remove(&key);
                // A deletion that was found out shows the last state that was delivered. One that was seen may be of an
                // object that nobody knew.
                (line, *exact || known == Some(version(last)))
            }
        };
        if !fits {
            state.wrong.push(format!("{line}, but known was {known:?}"));
        }
        state.told.push(line);
    }
}
