//! The commands.

pub(crate) mod api;
pub(crate) mod controller;
pub(crate) mod demo;
pub(crate) mod edit;
pub(crate) mod import;
pub(crate) mod in_process;
pub(crate) mod list;
pub(crate) mod new;
pub(crate) mod planned;
pub(crate) mod remove;
pub(crate) mod status;
pub(crate) mod up;
pub(crate) mod version;
