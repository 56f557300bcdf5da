//! [`Event`]: what happened to a cached object.

use crate::key::Key;
use crate::object::Cached;

/// What happened to a cached object. The cache has changed already when it is told.
#[derive(Clone, Debug)]
pub enum Event<K> {
    /// An object is cached that was not.
    Added {
        /// The object.
        object: Cached<K>,
        /// It was there when the cache, or this reader, began.
        initial: bool,
    },
    /// A cached object has another state, or is shown again.
    Updated {
        /// The state before.
        old: Cached<K>,
        /// The state now.
        new: Cached<K>,
        /// Why it is told.
        cause: Cause,
    },
    /// An object is no longer cached.
    Deleted {
        /// Its last known state.
        last: Cached<K>,
        /// Whether that is the state in which it was deleted. If not, its deletion was found out by a list, and it may have
        /// changed in between.
        exact: bool,
    },
}

/// Why an update is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The object has changed.
    Change,
    /// The object was deleted and another was created under its name: the uid is another.
    Recreated,
    /// Nothing has changed; a list has shown the object again.
    Relist,
    /// Nothing has changed; the reader asked to be shown everything from time to time.
    Resync,
}

/// An event whose objects are seen as nothing in particular.
pub(crate) type AnyEvent = Event<()>;

impl<K> Event<K> {
    /// The object's key.
    pub fn key(&self) -> &Key {
        self.object().key()
    }

    /// The object in its newest state: the new one, or the last.
    pub fn object(&self) -> &Cached<K> {
        match self {
            Self::Added { object, .. } => object,
            Self::Updated { new, .. } => new,
            Self::Deleted { last, .. } => last,
        }
    }

    /// The same event with its objects seen as another type.
    pub fn seen_as<T>(self) -> Event<T> {
        match self {
            Self::Added { object, initial } => Event::Added {
                object: object.seen_as(),
                initial,
            },
            Self::Updated { old, new, cause } => Event::Updated {
                old: old.seen_as(),
                new: new.seen_as(),
                cause,
            },
            Self::Deleted { last, exact } => Event::Deleted {
                last: last.seen_as(),
                exact,
            },
        }
    }

    /// What is left of the event for a reader who cares only for objects that pass `filter`: an object that begins to pass
    /// is added, one that no longer passes is deleted.
    pub fn filtered(self, filter: impl Fn(&Cached<K>) -> bool) -> Option<Self> {
        match self {
            Self::Updated { old, new, cause } => match (filter(&old), filter(&new)) {
                (true, true) => Some(Self::Updated { old, new, cause }),
                (false, true) => Some(Self::Added {
                    object: new,
                    initial: false,
                }),
                (true, false) => Some(Self::Deleted {
                    last: old,
                    exact: false,
                }),
                (false, false) => None,
            },
            other => filter(other.object()).then_some(other),
        }
    }
}
