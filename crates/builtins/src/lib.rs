//! Defaults, validation and conversion of the built-in kinds.
