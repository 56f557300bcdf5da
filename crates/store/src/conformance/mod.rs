//! The contract of a store, as checks that the tests of any store can run.
//!
//! A check is one sentence about [`Store`]. It opens a store through a [`Harness`], uses only the traits, and assumes nothing
//! about the first revision or about timing: it never waits for something *not* to happen, but writes a change that must come
//! next.
//!
//! Optional abilities (fork, closing and opening again, ending lifetimes on demand, keeping snapshots over a compaction) are declared by the [`Subject`].
//! Checks of missing abilities are skipped, and listed in the [`Report`].
//!
//! ```
//! use kubewright_store::{MemoryStore, conformance::{self, Subject}};
//! use std::sync::Arc;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let report = conformance::run(&|| async { Subject::new(Arc::new(MemoryStore::new())) }).await;
//! assert!(report.failed.is_empty(), "{report}");
//! # })
//! ```

use std::{fmt, future::Future, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::future::BoxFuture;

use crate::Store;
pub use verdict::{Stop, Verdict};

mod forks;
mod history;
mod lifetimes;
mod reads;
mod reopening;
mod subject;
mod verdict;
mod watches;
mod writes;

/// Opens stores for the checks.
#[async_trait]
pub trait Harness: Send + Sync {
    /// Returns an empty store without other writers.
    async fn open(&self) -> Subject;
}

/// A store and its optional abilities.
pub struct Subject {
    store: Arc<dyn Store>,
    fork: Option<Fork>,
    pass: Option<Pass>,
    snapshots_outlive_compaction: bool,
    has_gaps: bool,
    reopen: Option<Reopen>,
}

type Fork = Box<dyn Fn() -> BoxFuture<'static, Arc<dyn Store>> + Send + Sync>;
type Reopen = Arc<dyn Fn() -> BoxFuture<'static, Arc<dyn Store>> + Send + Sync>;
type Pass = Box<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>;

/// A sentence of the contract.
#[derive(Clone, Copy)]
pub struct Check {
    /// The sentence.
    pub name: &'static str,
    run: for<'a> fn(&'a dyn Harness) -> BoxFuture<'a, Verdict>,
}

/// The results of the checks.
#[derive(Debug, Default)]
pub struct Report {
    /// The checks that passed.
    pub passed: Vec<&'static str>,
    /// The checks that were skipped, and why.
    pub skipped: Vec<(&'static str, &'static str)>,
    /// The checks that failed, and why.
    pub failed: Vec<(&'static str, String)>,
}

/// Returns every check.
pub fn checks() -> Vec<Check> {
    [
        writes::CHECKS,
        reads::CHECKS,
        history::CHECKS,
        watches::CHECKS,
        lifetimes::CHECKS,
        forks::CHECKS,
        reopening::CHECKS,
    ]
    .concat()
}

/// Runs every check, each on its own store.
pub async fn run(harness: &dyn Harness) -> Report {
    let mut report = Report::default();
    for check in checks() {
        match check.run(harness).await {
            Ok(()) => report.passed.push(check.name),
            Err(Stop::Skipped(why)) => report.skipped.push((check.name, why)),
            Err(Stop::Failed(why)) => report.failed.push((check.name, why)),
        }
    }
    report
}

impl Check {
    /// Runs the check.
    pub async fn run(&self, harness: &dyn Harness) -> Verdict {
        (self.run)(harness).await
    }
}

impl Subject {
    /// Returns a store without optional abilities.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            fork: None,
            pass: None,
            snapshots_outlive_compaction: false,
            has_gaps: false,
            reopen: None,
        }
    }

    /// Sets the function that forks the store: the same content, revision and history.
    pub fn forked_by<F, S>(mut self, fork: F) -> Self
    where
        F: Fn() -> S + Send + Sync + 'static,
        S: Future<Output = Arc<dyn Store>> + Send + 'static,
    {
        self.fork = Some(Box::new(move || Box::pin(fork())));
        self
    }

    /// Sets the function that advances time and ends the lifetimes that expire.
    pub fn aged_by<F, S>(mut self, pass: F) -> Self
    where
        F: Fn(Duration) -> S + Send + Sync + 'static,
        S: Future<Output = ()> + Send + 'static,
    {
        self.pass = Some(Box::new(move |time| Box::pin(pass(time))));
        self
    }

    /// Declares that snapshots can be read after a later compaction.
    pub fn keeping_snapshots(mut self) -> Self {
        self.snapshots_outlive_compaction = true;
        self
    }

    /// Declares that revisions may be skipped, because others take them or compaction does.
    pub fn with_gaps(mut self) -> Self {
        self.has_gaps = true;
        self
    }

    /// Sets the function that closes the store and opens it again: the same content, revision and history.
    pub fn reopened_by<F, S>(mut self, reopen: F) -> Self
    where
        F: Fn() -> S + Send + Sync + 'static,
        S: Future<Output = Arc<dyn Store>> + Send + 'static,
    {
        self.reopen = Some(Arc::new(move || Box::pin(reopen())));
        self
    }

    /// Closes the store and opens it again before every step of a check. It needs [`reopened_by`](Self::reopened_by).
    pub fn reopened_before_every_step(mut self) -> Self {
        if let Some(reopen) = &self.reopen {
            self.store = Arc::new(reopening::Reopening::new(Arc::clone(reopen)));
        }
        self
    }
}

#[async_trait]
impl<F, S> Harness for F
where
    F: Fn() -> S + Send + Sync,
    S: Future<Output = Subject> + Send + 'static,
{
    async fn open(&self) -> Subject {
        self().await
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (passed, skipped) = (self.passed.len(), self.skipped.len());
        writeln!(
            f,
            "{passed} passed, {skipped} skipped, {} failed",
            self.failed.len()
        )?;
        for (name, why) in &self.skipped {
            writeln!(f, "skipped {name}: {why}")?;
        }
        for (name, why) in &self.failed {
            writeln!(f, "FAILED {name}: {why}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Defines the table of checks of a file.
macro_rules! sentences {
    ($($name:ident),+ $(,)?) => {
        /// Returns the checks of this file.
        pub(super) const CHECKS: &[super::Check] = &[$(super::Check {
            name: stringify!($name),
            run: |harness| Box::pin($name(harness)),
        }),+];
    };
}
use sentences;
