//! The ledger of a server: requests are recorded while they are handled, and read at `/kubewright/v1/`.
//!
//! | file | contents |
//! |---|---|
//! | `note` | the entry of a request while it is handled |
//! | `parameters` | the query of an endpoint, and the state at a revision |
//! | `endpoints` | the routes, and the lists |
//! | `objects` | history, fields, blame and timeline of an object |
//! | `explain` | runs and revisions with their causes |
//! | `conclusions` | the evidence for findings |
//! | `reports` | runs that managers report |

mod conclusions;
mod endpoints;
mod explain;
pub(crate) mod note;
mod objects;
mod parameters;
mod reports;

use kubewright_ledger::Ledger;

use crate::clock::SharedClock;

pub(crate) use endpoints::{answer, is_endpoint};
pub(crate) use note::Note;
pub use note::committed;
pub(crate) use reports::is_report;

/// The name of the header by which a server says that it has a ledger.
pub const LEDGER_HEADER: &str = "kubewright-ledger";

/// The header with the run that a request belongs to.
pub const RUN_HEADER: &str = "kubewright-run";

/// The header of a read that shows values of a Secret to a person. Such reads are recorded.
const REVEAL_HEADER: &str = "kubewright-reveal";

/// The ledger of a server, and its clock.
#[derive(Clone)]
pub(crate) struct Recorder {
    pub(crate) ledger: Ledger,
    pub(crate) clock: SharedClock,
}
