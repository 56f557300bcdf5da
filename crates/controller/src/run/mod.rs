//! The record of a run: its requests and log lines while it runs, and the finished runs of a manager.
//!
//! | file | contents |
//! |---|---|
//! | `record` | [`Record`]: the run that the current task belongs to |
//! | `tracking` | requests noted in the record, and named after it on servers with a ledger |
//! | `known` | [`KnownVersions`]: tells apart writes that change nothing |
//! | `log` | [`note_log_line`] |
//! | `finished` | [`Finished`]: the runs that have ended, with bounds |
//! | `links` | links between spans, by the writes that triggered a run |
//! | `report` | reports to a server with a ledger |

mod finished;
mod known;
mod links;
mod log;
mod record;
mod report;
mod tracking;

pub(crate) use finished::{Finished, Outcome};
pub(crate) use known::KnownVersions;
pub use log::note_log_line;
pub(crate) use tracking::Tracking;
