//! What every store has to keep to, as checks that any store's tests can run.
//!
//! A check is one sentence about the [port](crate::port). It opens a store through a [`Harness`], works on it through the
//! port alone, and assumes nothing about where revisions start or how long things take: it never waits for something
//! *not* to happen, but writes a change that must come next.
//!
//! What not every store can do (fork, let lifetimes end on demand, keep snapshots over a compaction) is declared by the
//! [`Subject`]; checks of what it cannot are skipped, and the [`Report`] says so.
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

use futures_util::future::BoxFuture;

use crate::Store;
pub use verdict::{Stop, Verdict};

mod forks;
mod history;
mod lifetimes;
mod reads;
mod subject;
mod verdict;
mod watches;
mod writes;

/// Where the checks get their stores.
pub trait Harness: Send + Sync {
    /// A store that holds nothing and that nobody else writes to.
    fn open(&self) -> BoxFuture<'_, Subject>;
}

/// A store and what it can do beyond the port.
pub struct Subject {
    store: Arc<dyn Store>,
    fork: Option<Fork>,
    pass: Option<Pass>,
    snapshots_outlive_compaction: bool,
}

type Fork = Box<dyn Fn() -> BoxFuture<'static, Arc<dyn Store>> + Send + Sync>;
type Pass = Box<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>;

/// One sentence of the contract.
#[derive(Clone, Copy)]
pub struct Check {
    /// The sentence.
    pub name: &'static str,
    run: for<'a> fn(&'a dyn Harness) -> BoxFuture<'a, Verdict>,
}

/// How the checks went.
#[derive(Debug, Default)]
pub struct Report {
    /// Those that hold.
    pub passed: Vec<&'static str>,
    /// Those that do not apply, and why.
    pub skipped: Vec<(&'static str, &'static str)>,
    /// Those that do not hold, and why.
    pub failed: Vec<(&'static str, String)>,
}

/// Every check.
pub fn checks() -> Vec<Check> {
    [
        writes::CHECKS,
        reads::CHECKS,
        history::CHECKS,
        watches::CHECKS,
        lifetimes::CHECKS,
        forks::CHECKS,
    ]
    .concat()
}

/// Runs every check, each on a store of its own.
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
    /// Runs it.
    pub async fn run(&self, harness: &dyn Harness) -> Verdict {
        (self.run)(harness).await
    }
}

impl Subject {
    /// A store of which nothing is known but that it keeps to the port.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            fork: None,
            pass: None,
            snapshots_outlive_compaction: false,
        }
    }

    /// Says how to make another store with the same content, revision and history.
    pub fn forked_by<F, S>(mut self, fork: F) -> Self
    where
        F: Fn() -> S + Send + Sync + 'static,
        S: Future<Output = Arc<dyn Store>> + Send + 'static,
    {
        self.fork = Some(Box::new(move || Box::pin(fork())));
        self
    }

    /// Says how to have time pass, and all lifetimes that end meanwhile ended.
    pub fn aged_by<F, S>(mut self, pass: F) -> Self
    where
        F: Fn(Duration) -> S + Send + Sync + 'static,
        S: Future<Output = ()> + Send + 'static,
    {
        self.pass = Some(Box::new(move |time| Box::pin(pass(time))));
        self
    }

    /// Says that a snapshot once taken can be read whatever is compacted later.
    pub fn keeping_snapshots(mut self) -> Self {
        self.snapshots_outlive_compaction = true;
        self
    }
}

impl<F, S> Harness for F
where
    F: Fn() -> S + Send + Sync,
    S: Future<Output = Subject> + Send + 'static,
{
    fn open(&self) -> BoxFuture<'_, Subject> {
        Box::pin(self())
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

/// The table of a file's checks.
macro_rules! sentences {
    ($($name:ident),+ $(,)?) => {
        /// The checks of this file.
        pub(super) const CHECKS: &[super::Check] = &[$(super::Check {
            name: stringify!($name),
            run: |harness| Box::pin($name(harness)),
        }),+];
    };
}
use sentences;
