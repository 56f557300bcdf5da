//! `metadata.managedFields`: field ownership, updated on every write.
//!
//! [`update`] runs after a create, update or patch: the writer gains the fields it added or changed, and all managers
//! lose removed fields. [`apply`](fn@apply) is server-side apply: it merges a configuration into the live object, finds
//! conflicts with other owners, and removes fields that its manager no longer applies.
//!
//! Both use an [`Endpoint`]: the schema of the version that is written, the filter of fields that a writer may own, and
//! the conversion to other versions, since each owner owns fields of the version it wrote.
//!
//! Neither applies defaults nor validates; `apply` returns a merged object, whose defaults the caller applies.
//!
//! Invariants: an entry owns at least one field; at most ten entries come from updates, the oldest ones are merged into
//! `ancient-changes`; an entry's time changes only when its fields do.

mod apply;
mod cap;
mod conflict;
mod endpoint;
mod entry;
mod last_applied;
mod ownership;
mod prune;
#[cfg(test)]
mod tests;
mod update;

pub use apply::{Applied, Apply, ApplyError, apply};
pub use conflict::{Cause, Conflict, Conflicts};
pub use endpoint::{ConvertError, Converted, Endpoint, OneVersion, Versions};
pub use entry::{DecodeError, Entry, ManagedFields, Operation};
pub use update::{UpdateError, create, update};
