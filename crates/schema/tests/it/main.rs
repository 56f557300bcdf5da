//! Tests of the crate from outside: hostile inputs, and properties that hold for all.

mod hostile;
mod properties;
