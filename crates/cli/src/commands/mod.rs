//! The commands.

pub(crate) mod up;
