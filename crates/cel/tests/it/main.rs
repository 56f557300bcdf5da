//! Integration tests of CEL.

mod bounds;
mod golden;
mod validation;
