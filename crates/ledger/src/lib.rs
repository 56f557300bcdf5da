//! The ledger: who wrote each revision, through which request, and in which run of which controller.
//!
//! A server [records](Ledger::record) its requests, and managers [report](Ledger::report) their runs, which are kept in
//! bounded rings. Together with the history of objects, they yield the [causes](causes_of) of a write, and [`Finding`]s.
//!
//! ```
//! use kubewright_ledger::{Caller, Entry, Ledger, PageQuery, RequestKind};
//!
//! let ledger = Ledger::new();
//! let caller = ledger.caller(Caller { user: "alice", user_agent: "kubectl/v1.36.4", field_manager: "kubectl" });
//! let kind = ledger.kind(RequestKind { verb: "create", group: "", resource: "pods", subresource: "" });
//! ledger.record(Entry::new(caller, kind, "default/web".into(), jiff::Timestamp::UNIX_EPOCH));
//! let page = ledger.requests(&PageQuery::default(), |_| true);
//! assert_eq!(page.items[0].user, "alice");
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `request` | recorded requests, in memory and as JSON |
//! | `audit_id` | audit ids in little memory |
//! | `run` | runs of controllers and reports of managers, as JSON |
//! | `ring` | numbered entries with limits |
//! | `runs` | the runs and the status of managers |
//! | `ledger` | [`Ledger`]: all of them |
//! | `causes` | the writes that triggered a run |
//! | `history` | revisions of an object with their differences |
//! | `timeline` | the history of an object, as lines |
//! | `value` | paths, differences, owners, YAML lines and masks of JSON |
//! | `findings` | rules that detect problems, one per file |

mod audit_id;
mod causes;
mod denial;
mod findings;
mod history;
mod interned;
mod ledger;
mod moment;
mod request;
mod ring;
mod run;
mod runs;
mod timeline;
mod value;

pub use audit_id::AuditId;
pub use causes::{Cause, caused_by, causes_of};
pub use denial::{Denial, GrantingRule};
pub use findings::{Evidence, Finding, FindingKind, ObjectFacts, Severity, fights, findings};
pub use history::{Past, Revision, Version};
pub use ledger::Ledger;
pub use request::{
    Caller, CallerId, Change, Commit, CommitItem, Entry, KindId, Rejection, Request, RequestKind,
};
pub use ring::{Bounds, Page, PageQuery};
pub use run::{LogLine, ManagerReport, ObjectRef, Run, RunRequest, Trigger};
pub use timeline::{Moment, TimelineItem};
pub use value::{
    BlamedLine, FieldChange, FieldOwner, MASK, Op, Owner, Path, Step, Values, diff, mask_secret,
    owners, yaml_lines,
};
