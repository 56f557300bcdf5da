//! The commands: one file or folder for each.

pub(crate) mod add;
pub(crate) mod audit;
pub(crate) mod completion;
pub(crate) mod demo;
pub(crate) mod deploy;
pub(crate) mod dev;
pub(crate) mod doctor;
pub(crate) mod edit;
pub(crate) mod envtest;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod import;
pub(crate) mod install;
pub(crate) mod list;
pub(crate) mod migrate;
pub(crate) mod new;
pub(crate) mod remove;
pub(crate) mod run;
pub(crate) mod status;
pub(crate) mod store;
pub(crate) mod test;
pub(crate) mod top;
pub(crate) mod tree;
pub(crate) mod up;
pub(crate) mod version;
pub(crate) mod why;
