//! [`Heap`]: a queue of keyed values that gives the least first.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// A queue of keyed values that gives the value with the least rank first. Who takes waits for one.
pub struct Heap<K, V, R> {
    state: Mutex<State<K, V, R>>,
    rank: Box<dyn Fn(&V) -> R + Send + Sync>,
    pushed: Notify,
}

struct State<K, V, R> {
    /// By rank, and among equals by arrival.
    order: BTreeMap<(R, u64), K>,
    values: HashMap<K, (V, R, u64)>,
    arrivals: u64,
    closed: bool,
}

/// What cannot be done with a [`Heap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeapError {
    /// It takes nothing more, or has nothing more.
    #[error("heap is closed")]
    Closed,
    /// There is no such key.
    #[error("object not found")]
    NotFound,
}

impl<K: Hash + Eq + Clone, V: Clone, R: Ord + Clone> Heap<K, V, R> {
    /// An empty one, in order of what `rank` says.
    pub fn new(rank: impl Fn(&V) -> R + Send + Sync + 'static) -> Self {
        Self {
            state: Mutex::new(State {
                order: BTreeMap::new(),
                values: HashMap::new(),
                arrivals: 0,
                closed: false,
            }),
            rank: Box::new(rank),
            pushed: Notify::new(),
        }
    }

    /// Puts a value there, or in place of the one under its key.
    pub fn add(&self, key: K, value: V) -> Result<(), HeapError> {
        self.add_all([(key, value)])
    }

    /// Puts values there at once.
    pub fn add_all(&self, values: impl IntoIterator<Item = (K, V)>) -> Result<(), HeapError> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(HeapError::Closed);
        }
        for (key, value) in values {
            state.remove(&key);
            let (rank, arrival) = ((self.rank)(&value), state.arrivals);
            state.arrivals += 1;
            state.order.insert((rank.clone(), arrival), key.clone());
            state.values.insert(key, (value, rank, arrival));
        }
        drop(state);
        self.pushed.notify_waiters();
        Ok(())
    }

    /// Puts a value there unless its key is there already.
    pub fn add_if_absent(&self, key: K, value: V) -> Result<(), HeapError> {
        if self.get(&key).is_some() {
            return Ok(());
        }
        self.add(key, value)
    }

    /// Takes a value out by its key.
    pub fn delete(&self, key: &K) -> Result<V, HeapError> {
        self.state.lock().remove(key).ok_or(HeapError::NotFound)
    }

    /// Takes the least value out, waiting for one.
    pub async fn pop(&self) -> Result<V, HeapError> {
        loop {
            let pushed = self.pushed.notified();
            tokio::pin!(pushed);
            pushed.as_mut().enable();
            {
                let mut state = self.state.lock();
                let least = state.order.first_key_value().map(|(_, key)| key.clone());
                if let Some(value) = least.and_then(|key| state.remove(&key)) {
                    return Ok(value);
                }
                if state.closed {
                    return Err(HeapError::Closed);
                }
            }
            pushed.await;
        }
    }

    /// The value under a key.
    pub fn get(&self, key: &K) -> Option<V> {
        self.state
            .lock()
            .values
            .get(key)
            .map(|(value, ..)| value.clone())
    }

    /// All values, in no particular order.
    pub fn list(&self) -> Vec<V> {
        let state = self.state.lock();
        state
            .values
            .values()
            .map(|(value, ..)| value.clone())
            .collect()
    }

    /// Takes nothing more; what is there can still be taken out.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.pushed.notify_waiters();
    }
}

impl<K: Hash + Eq, V, R: Ord + Clone> State<K, V, R> {
    fn remove(&mut self, key: &K) -> Option<V> {
        let (value, rank, arrival) = self.values.remove(key)?;
        self.order.remove(&(rank, arrival));
        Some(value)
    }
}
