//! [`Event`]: a change of a cached object.

use crate::key::Key;
use crate::object::Cached;

/// A change of a cached object. The cache shows it before anybody is notified.
///
/// ```
/// use kubewright_informer::Event;
///
/// fn line<K>(event: &Event<K>) -> String {
///     match event {
///         Event::Added { object, initial } => format!("+ {} (initial: {initial})", object.key()),
///         Event::Updated { object, cause, .. } => format!("~ {} ({cause:?})", object.key()),
///         Event::Deleted { object, exact } => format!("- {} (exact: {exact})", object.key()),
///     }
/// }
/// # let _ = line::<()>;
/// ```
#[derive(Clone, Debug)]
pub enum Event<K> {
    /// An object was added to the cache.
    Added {
        /// The object.
        object: Cached<K>,
        /// True if the object existed when the cache was filled, or when this reader started.
        initial: bool,
    },
    /// A cached object has changed, or is shown again.
    Updated {
        /// The previous state.
        old: Cached<K>,
        /// The current state.
        object: Cached<K>,
        /// The reason for the event.
        cause: Cause,
    },
    /// An object was removed from the cache.
    Deleted {
        /// Its last known state.
        object: Cached<K>,
        /// True if that is the state in which the object was deleted. If not, the deletion was found by a list, and
        /// the object may have changed in between.
        exact: bool,
    },
}

/// The reason for an update event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The object has changed.
    Change,
    /// The object was deleted and another one created under its name: the UID differs.
    Recreated,
    /// Nothing has changed; a list returned the object again.
    Relist,
    /// Nothing has changed; the reader asked for periodic resyncs.
    Resync,
}

/// An event whose objects have no particular type.
pub(crate) type AnyEvent = Event<()>;

impl<K> Event<K> {
    /// Returns the object's key.
    pub fn key(&self) -> &Key {
        self.object().key()
    }

    /// Returns the newest state of the object: the new one, or the last.
    pub fn object(&self) -> &Cached<K> {
        match self {
            Self::Added { object, .. }
            | Self::Updated { object, .. }
            | Self::Deleted { object, .. } => object,
        }
    }

    /// Returns the same event with objects of another type.
    pub fn cast<T>(self) -> Event<T> {
        match self {
            Self::Added { object, initial } => Event::Added {
                object: object.cast(),
                initial,
            },
            Self::Updated { old, object, cause } => Event::Updated {
                old: old.cast(),
                object: object.cast(),
                cause,
            },
            Self::Deleted { object, exact } => Event::Deleted {
                object: object.cast(),
                exact,
            },
        }
    }

    /// Restricts the event to objects that pass `filter`: an object that starts to pass is added, one that no longer
    /// passes is deleted.
    pub fn filtered(self, filter: impl Fn(&Cached<K>) -> bool) -> Option<Self> {
        match self {
            Self::Updated { old, object, cause } => match (filter(&old), filter(&object)) {
                (true, true) => Some(Self::Updated { old, object, cause }),
                (false, true) => Some(Self::Added {
                    object,
                    initial: false,
                }),
                (true, false) => Some(Self::Deleted {
                    object: old,
                    exact: false,
                }),
                (false, false) => None,
            },
            other => filter(other.object()).then_some(other),
        }
    }
}
