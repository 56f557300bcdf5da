//! Leader election by a Lease.
//!
//! [`LeaderElector::run`] takes a Lease of `coordination.k8s.io/v1`, runs the given work while it is held, and releases
//! it when the work has ended. Candidates written in Go with client-go take part in the same election: the record and
//! its rules are the same.
//!
//! - Times in the record are never compared with a clock. A candidate remembers when *it* saw the record change, and
//!   takes the Lease once that is longer ago than the record's duration (`record`).
//! - A candidate watches the Lease, so that a released one is taken within milliseconds. If it may not watch, it polls.
//! - The leader counts its deadline from the *start* of its last successful renewal. No candidate can have started to
//!   count before that.
//! - A [`Fence`] knows that deadline. A client that is guarded by it sends no write afterwards, by the monotonic clock
//!   and whether or not the elector had a chance to run: a process that was stopped and wakes up too late writes
//!   nothing.
//! - The Lease is released only when the work has ended and no guarded write is in progress.
//!
//! The limits of a fence: a write that was sent in time may arrive late. The time between the renew deadline and the
//! end of the lease allows for that; a request without a response by then is dropped. And the monotonic clock of most
//! systems stands still while the whole machine is suspended.
//!
//! | module | contents |
//! |---|---|
//! | `config` | [`ElectionConfig`] and its validation |
//! | `elector` | [`LeaderElector`]: the candidate and the leader |
//! | `fence` | [`Fence`], [`LeaderToken`]: protection of a leader's writes |
//! | `guard` | the tower layer that rejects writes |
//! | `record` | the contents of the Lease, and when it is free |
//! | `health` | the health check of a leader |

pub(crate) mod config;
pub(crate) mod elector;
pub(crate) mod fence;
pub(crate) mod guard;
pub(crate) mod health;
pub(crate) mod lease_watch;
pub(crate) mod lock;
pub(crate) mod record;

pub use config::{ElectionConfig, ElectionConfigError, default_identity};
pub use elector::{LeaderElector, Leadership, Outcome};
pub use fence::{Fence, LeaderToken, NotLeader, is_not_leader};
pub use guard::{FenceLayer, FenceService};
pub use health::LeaderHealth;

pub use crate::metrics::ElectionMetrics;
