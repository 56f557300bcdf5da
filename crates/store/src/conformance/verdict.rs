//! The result of a check.

use crate::{ReadError, WatchError, WriteError};

/// The result of a check.
pub type Verdict<T = ()> = Result<T, Stop>;

/// The reason why a check did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The store does not claim the ability.
    Skipped(&'static str),
    /// The store violates the contract.
    Failed(String),
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        Self::Failed(format!("a read failed: {error}"))
    }
}

impl From<WriteError> for Stop {
    fn from(error: WriteError) -> Self {
        Self::Failed(format!("a write failed: {error}"))
    }
}

impl From<WatchError> for Stop {
    fn from(error: WatchError) -> Self {
        Self::Failed(format!("a watch ended: {error}"))
    }
}

/// Fails unless a condition holds.
macro_rules! ensure {
    ($holds:expr, $($why:tt)+) => {
        if !$holds {
            return Err(super::Stop::Failed(format!($($why)+)));
        }
    };
}

/// Fails unless two values are equal.
macro_rules! ensure_eq {
    ($left:expr, $right:expr, $($what:tt)+) => {{
        let (left, right) = (&$left, &$right);
        if left != right {
            let what = format!($($what)+);
            return Err(super::Stop::Failed(format!("{what}: {left:?} is not {right:?}")));
        }
    }};
}

pub(super) use {ensure, ensure_eq};
