//! The verbs, and the requests that they reject.

mod apply;
mod concurrency;
mod create;
mod delete;
mod dry_run;
mod grace;
mod list;
mod namespaces;
mod patch;
mod update;
mod versions;
