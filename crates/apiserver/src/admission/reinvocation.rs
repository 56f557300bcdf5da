//! [`Reinvocation`]: a second mutating pass, requested by a plugin that changed the object.

use std::{
    any::Any,
    fmt,
    sync::atomic::{AtomicBool, Ordering},
};

use parking_lot::Mutex;

/// The state of the mutating pass of one request.
///
/// A plugin that runs the code of others, such as webhooks, requests a second pass if that code changed the object, because
/// plugins before it have not seen the change. All plugins then mutate once more; there is no third pass.
///
/// ```
/// use kubewright_apiserver::admission::Reinvocation;
///
/// let pass = Reinvocation::default();
/// assert_eq!(pass.round(), 0);
/// // A plugin remembers in the first round what it needs to know in the second.
/// pass.with_state(|called: &mut Vec<&str>| called.push("defaults.example.com"));
/// pass.request();
/// assert!(pass.with_state(|called: &mut Vec<&str>| called.contains(&"defaults.example.com")));
/// ```
#[derive(Default)]
pub struct Reinvocation {
    requested: AtomicBool,
    second: AtomicBool,
    /// The state of plugins, one of each type.
    state: Mutex<Vec<Box<dyn Any + Send>>>,
}

impl Reinvocation {
    /// Returns 0 in the first mutating pass and 1 in the second.
    pub fn round(&self) -> usize {
        self.second.load(Ordering::Relaxed).into()
    }

    /// Requests a second mutating pass. Has no effect in the second.
    pub fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    /// Calls a function with the state of this type, which is made when it is first used and kept until the request ends. Plugins use
    /// types of their own.
    pub fn with_state<T: Default + Send + 'static, R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let mut states = self.state.lock();
        if let Some(state) = states.iter_mut().find_map(|state| state.downcast_mut()) {
            return f(state);
        }
        let mut state = T::default();
        let result = f(&mut state);
        states.push(Box::new(state));
        result
    }

    /// Begins the second pass if it was requested. Returns whether it was.
    pub(super) fn begin_second(&self) -> bool {
        let requested = self.requested.load(Ordering::Relaxed);
        self.second.store(requested, Ordering::Relaxed);
        requested
    }
}

impl fmt::Debug for Reinvocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "round {}", self.round())
    }
}
