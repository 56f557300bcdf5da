//! [`Predicate`]: filters the events of a controller.
//!
//! Predicates keep requests out of the queue. They do not make a cache smaller: restrict its scope for that.

use std::{fmt, sync::Arc};

use kubewright_informer::{Event, StoredObject};
use kubewright_machinery::labels::LabelSelector;
use serde::de::DeserializeOwned;

/// An event of any kind. Its objects show their metadata; [`Event::cast`] makes them typed.
pub type AnyEvent = Event<()>;

/// A filter of events. Cheap to clone.
///
/// ```
/// use kubewright_controller::Predicate;
/// use kubewright_machinery::labels::LabelSelector;
///
/// let web = LabelSelector::parse("app=web").unwrap();
/// let predicate = Predicate::selector(web)
///     .and(Predicate::generation_changed().or(Predicate::annotations_changed()));
/// # let _ = predicate;
/// ```
#[derive(Clone)]
pub struct Predicate(Arc<dyn Fn(&AnyEvent) -> bool + Send + Sync>);

impl Predicate {
    /// Filters by a function of the event.
    pub fn events(passes: impl Fn(&AnyEvent) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(passes))
    }

    /// Filters by a function of the object: the new state of an update, the last of a deletion.
    pub fn object(passes: impl Fn(&StoredObject) -> bool + Send + Sync + 'static) -> Self {
        Self::events(move |event| passes(event.object()))
    }

    /// Filters by a function of the decoded object. One that cannot be decoded is reported and does not pass.
    pub fn typed<K>(passes: impl Fn(&K) -> bool + Send + Sync + 'static) -> Self
    where
        K: DeserializeOwned + Send + Sync + 'static,
    {
        Self::events(move |event| {
            let object = event.object().clone().cast::<K>();
            object.get().is_ok_and(|object| passes(&object))
        })
    }

    /// Filters updates by a function of the old and new state; everything else passes.
    pub fn updates(
        passes: impl Fn(&StoredObject, &StoredObject) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::events(move |event| match event {
            Event::Updated {
                old, object: new, ..
            } => passes(old, new),
            _ => true,
        })
    }

    /// Passes updates that changed the generation. Changes of status and metadata do not pass, nor do updates of
    /// objects without a generation.
    pub fn generation_changed() -> Self {
        Self::updates(|old, new| old.generation() != new.generation())
    }

    /// Passes updates that changed anything, but no resyncs.
    pub fn resource_version_changed() -> Self {
        Self::updates(|old, new| old.resource_version() != new.resource_version())
    }

    /// Passes updates that changed labels.
    pub fn labels_changed() -> Self {
        Self::updates(|old, new| differ(old.labels(), new.labels()))
    }

    /// Passes updates that changed annotations.
    pub fn annotations_changed() -> Self {
        Self::updates(|old, new| differ(old.annotations(), new.annotations()))
    }

    /// Passes objects that match the selector or matched it before, so that *leaving* it counts.
    pub fn selector(selector: LabelSelector) -> Self {
        Self::events(move |event| {
            matches(&selector, event.object())
                || matches!(event, Event::Updated { old, .. } if matches(&selector, old))
        })
    }

    /// Passes objects that match the selector.
    pub fn matching(selector: LabelSelector) -> Self {
        Self::object(move |object| matches(&selector, object))
    }

    /// Passes objects in these namespaces.
    pub fn namespaces<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        Self::object(move |object| {
            let namespace = object.namespace().unwrap_or_default();
            names.iter().any(|name| name == namespace)
        })
    }

    /// Passes what passes both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::events(move |event| self.passes(event) && other.passes(event))
    }

    /// Passes what passes either.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::events(move |event| self.passes(event) || other.passes(event))
    }

    /// Passes what does not pass.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "beside `and` and `or`")]
    pub fn not(self) -> Self {
        Self::events(move |event| !self.passes(event))
    }

    /// Reports whether an event passes.
    pub fn passes(&self, event: &AnyEvent) -> bool {
        (self.0)(event)
    }
}

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Predicate")
    }
}

fn differ<T: Ord>(mut a: Vec<T>, mut b: Vec<T>) -> bool {
    a.sort_unstable();
    b.sort_unstable();
    a != b
}

fn matches(selector: &LabelSelector, object: &StoredObject) -> bool {
    let labels = object.labels();
    selector.matches(|name| {
        let label = labels.iter().find(|(key, _)| *key == name);
        label.map(|(_, value)| &**value)
    })
}
