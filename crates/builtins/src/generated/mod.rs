//! Data that is generated, not written.

pub(crate) mod internal_forms;
pub(crate) mod time_zones;
