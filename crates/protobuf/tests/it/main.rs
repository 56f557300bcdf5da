//! Tests of the crate from outside.

mod arbitrary;
mod declared;
mod fixtures;
mod golden;
mod hostile;
mod messages;
mod round_trip;
mod transcode;
