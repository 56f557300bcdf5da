//! Waits for a group to become durable.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Poll, Waker},
};

use parking_lot::Mutex;

/// The outcome of a group of writes.
#[derive(Default)]
pub(crate) struct Outcome {
    state: Mutex<State>,
}

enum State {
    Waiting(Vec<Waker>),
    Done(Result<(), Arc<str>>),
}

impl Default for State {
    fn default() -> Self {
        Self::Waiting(Vec::new())
    }
}

impl Outcome {
    /// Sets the outcome and wakes all waiters.
    pub(crate) fn finish(&self, result: Result<(), Arc<str>>) {
        let mut state = self.state.lock();
        if let State::Waiting(wakers) = std::mem::replace(&mut *state, State::Done(result)) {
            drop(state);
            wakers.into_iter().for_each(Waker::wake);
        }
    }

    /// Returns the outcome, if it is known.
    #[cfg(test)]
    pub(crate) fn known(&self) -> Option<Result<(), Arc<str>>> {
        match &*self.state.lock() {
            State::Waiting(_) => None,
            State::Done(result) => Some(result.clone()),
        }
    }

    /// Waits for the outcome.
    pub(crate) async fn wait(&self) -> Result<(), Arc<str>> {
        let mut slot = None;
        poll_fn(|task| {
            let mut state = self.state.lock();
            match &mut *state {
                State::Done(result) => Poll::Ready(result.clone()),
                State::Waiting(wakers) => {
                    match slot.and_then(|slot: usize| wakers.get_mut(slot)) {
                        Some(waker) => waker.clone_from(task.waker()),
                        None => {
                            slot = Some(wakers.len());
                            wakers.push(task.waker().clone());
                        }
                    }
                    Poll::Pending
                }
            }
        })
        .await
    }
}
