//! Scenarios: commands and the output they must have, written down like a session in a terminal.
//!
//! - `text`: a scenario as it stands in its file
//! - `pattern`: which output an expectation allows
//! - `json`: the same for JSON
//! - `session`: runs a scenario
//! - `record`: writes down the output of a run
//!
//! The format is explained in `conformance/README.md`.

mod json;
mod pattern;
mod record;
mod session;
mod text;

pub(crate) use record::recorded;
pub(crate) use session::{Session, Surroundings};
pub(crate) use text::Scenario;
