//! Crash tests: random writes to a simulated disk that can lose power at any call, compared with a model.
//!
//! `KUBEWRIGHT_CRASH_IMAGES=1000000 cargo test --release -p kubewright-store-durable nothing_acknowledged` checks a million
//! images. `KUBEWRIGHT_CRASH_START` sets the first seed, so that a long run can be split. Failures name their seed, and
//! `KUBEWRIGHT_CRASH_SEED` runs only that one.

use std::cell::{Cell, RefCell};

use crate::disk::sim::SimDisk;

mod conformance;
mod damage;
mod faults;
mod harness;
mod images;
mod model;

/// A deliberate bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// Writes are acknowledged before they are synced.
    EarlyAnswer,
    /// Readers see writes before they are synced.
    EarlyPublish,
    /// The name of a new segment is not synced.
    NoFolderSync,
    /// The log is removed before its checkpoint is synced.
    DeleteTooEarly,
    /// A frame is accepted although it does not follow the previous one.
    AcceptWrongChain,
    /// An error names an object that is not synced.
    EarlyConflict,
}

/// A small deterministic random number generator.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

type Hook = Box<dyn FnMut(&SimDisk)>;

thread_local! {
    static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
}

/// Returns the deliberate bug of this thread.
pub(crate) fn planted() -> Option<Bug> {
    PLANTED.get()
}

/// Sets the deliberate bug of this thread.
pub(crate) fn plant(bug: Option<Bug>) {
    PLANTED.set(bug);
}

/// Calls the hook of this thread, but not recursively.
pub(crate) fn on_disk_call(disk: &SimDisk) {
    let hook = HOOK.with_borrow_mut(Option::take);
    if let Some(mut hook) = hook {
        hook(disk);
        HOOK.with_borrow_mut(|place| {
            place.get_or_insert(hook);
        });
    }
}

/// Sets the hook of this thread.
pub(crate) fn set_hook(hook: Option<Hook>) {
    HOOK.set(hook);
}

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a bound.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// Returns true with probability 1/n.
    pub(crate) fn chance(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}
