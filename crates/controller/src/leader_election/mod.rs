//! One leader at a time, on a Lease.
//!
//! [`LeaderElector::run`] takes a Lease of `coordination.k8s.io/v1`, runs the given work while it is held, and gives it back
//! when the work has ended. Holders written in Go with client-go take part in the same election: the record and the rules by
//! which it is read are the same.
//!
//! - Times in the record are never compared with a clock. A candidate remembers when *it* saw the record change, and takes
//!   the lease when that was longer ago than the record's duration ([`Observed`]).
//! - A candidate watches the Lease, so that one that is given back is taken within milliseconds. Where it may not watch, it
//!   polls.
//! - The leader counts its deadline from the moment it *began* its last renewal that succeeded. No candidate can have
//!   started to count before that.
//! - A [`Fence`] knows that deadline. A client that is guarded by it sends no write afterwards, by the monotonic clock and
//!   whether or not the elector had a chance to run: a process that was stopped and wakes up too late writes nothing.
//! - The lease is given back only when the work has ended and no guarded write is under way.
//!
//! What a fence cannot do: a write that left in time may arrive late. The time between the renew deadline and the end of the
//! lease is there for it; a request still unanswered by then is dropped. And the monotonic clock of most systems stands still
//! while the whole machine is suspended.
//!
//! | module | what it holds |
//! |---|---|
//! | [`config`] | [`ElectionConfig`] and what it must fulfil |
//! | [`elector`] | [`LeaderElector`]: the candidate and the leader |
//! | [`fence`] | [`Fence`], [`LeaderToken`]: what guarded work holds |
//! | [`guard`] | the tower layer that refuses writes |
//! | [`record`] | what stands in the Lease, and when it is free |
//! | [`health`] | the health check of a leader |

pub mod config;
pub mod elector;
pub mod fence;
pub mod guard;
pub mod health;
mod lease_watch;
mod lock;
pub mod record;

pub use config::{ConfigError, ElectionConfig, default_identity};
pub use elector::{LeaderElector, Leadership, Outcome};
pub use fence::{Fence, LeaderToken, NotLeader, is_not_leader};
pub use guard::FenceLayer;
pub use health::LeaderHealth;
pub use record::Observed;
