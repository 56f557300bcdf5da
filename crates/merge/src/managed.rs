//! `metadata.managedFields`: who owns which field, kept up to date on every write.
//!
//! [`update`] is what the server does after a create, update or patch: the writer gains what it added or changed, and
//! everybody loses what is gone. [`apply`](fn@apply) is server-side apply: it merges a configuration into the live
//! object, finds conflicts with other owners, and takes away what its manager no longer applies.
//!
//! Both look at the object through an [`Endpoint`]: the schema of the version that is written, which fields the
//! endpoint lets a writer own, and how to see the object in other versions, since each owner owns fields of the version
//! it wrote.
//!
//! Neither fills in defaults nor validates; `apply` hands back a merged object that the caller completes.
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
pub use entry::{
    DecodeError, Entry, Form, ManagedFields, Operation, expand_text_forms, write_text_forms,
};
pub use update::{UpdateError, update, update_as};
