//! Deliberate bugs that the crash tests must detect. They exist only in tests.

/// Returns whether a bug is planted.
#[cfg(test)]
macro_rules! planted {
    ($bug:ident) => {
        crate::tests::planted() == Some(crate::tests::Bug::$bug)
    };
}

/// Returns whether a bug is planted.
#[cfg(not(test))]
macro_rules! planted {
    ($bug:ident) => {
        false
    };
}
