//! [`Ring`]: the newest events in memory.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;

use super::{Event, Sink};

/// The most bytes of objects that a ring holds.
const MAX_BYTES: usize = 64 << 20;

/// Keeps the newest events in memory. Clones share them.
///
/// It holds a number of events and at most 64 MiB of their objects; the oldest make room for new ones.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::audit::{Event, Ring, Sink};
///
/// let ring = Ring::new(2);
/// for verb in ["get", "list", "watch"] {
///     ring.record(Arc::new(Event { verb: verb.into(), ..Event::default() }));
/// }
/// let verbs: Vec<String> = ring.events().iter().map(|event| event.verb.clone()).collect();
/// assert_eq!(verbs, ["list", "watch"]);
/// assert_eq!(ring.forgotten(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct Ring(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Arc<Event>>,
    bytes: usize,
    forgotten: u64,
}

impl Ring {
    /// Creates a ring that holds up to `capacity` events, and at least one.
    pub fn new(capacity: usize) -> Self {
        Self(Arc::new(Shared {
            capacity: capacity.max(1),
            state: Mutex::default(),
        }))
    }

    /// Returns the events, oldest first.
    pub fn events(&self) -> Vec<Arc<Event>> {
        self.0.state.lock().events.iter().cloned().collect()
    }

    /// Returns the events that `matches` selects, oldest first.
    pub fn matching(&self, mut matches: impl FnMut(&Event) -> bool) -> Vec<Arc<Event>> {
        let mut events = self.events();
        events.retain(|event| matches(event));
        events
    }

    /// Returns how many events made room for newer ones. A test that counts events checks that this is 0.
    pub fn forgotten(&self) -> u64 {
        self.0.state.lock().forgotten
    }

    /// Removes all events.
    pub fn clear(&self) {
        *self.0.state.lock() = State::default();
    }
}

impl Sink for Ring {
    fn record(&self, event: Arc<Event>) {
        let mut state = self.0.state.lock();
        state.bytes += event.size();
        state.events.push_back(event);
        let full = |state: &State| {
            state.events.len() > self.0.capacity
                || (state.bytes > MAX_BYTES && state.events.len() > 1)
        };
        while full(&state) {
            let Some(oldest) = state.events.pop_front() else {
                break;
            };
            state.bytes = state.bytes.saturating_sub(oldest.size());
            state.forgotten += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn large_objects_make_room_for_others() {
        let ring = Ring::new(100);
        let large = || Event {
            response_object: Some(Bytes::from(vec![b' '; MAX_BYTES / 2])),
            ..Event::default()
        };
        for _ in 0..3 {
            ring.record(Arc::new(large()));
        }
        assert_eq!((ring.events().len(), ring.forgotten()), (1, 2));
        ring.clear();
        assert_eq!((ring.events().len(), ring.forgotten()), (0, 0));
    }
}
