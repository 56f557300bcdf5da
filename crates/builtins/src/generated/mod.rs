//! Data that is generated, not written.

pub(crate) mod time_zones;
