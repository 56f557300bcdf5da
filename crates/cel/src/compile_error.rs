//! The error of an expression that cannot be used.

/// The reason why an expression is rejected, worded as Kubernetes words it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The expression does not parse, does not check, or is of the wrong type.
    #[error("{0}")]
    Invalid(String),
    /// The expression checks, but cannot be planned.
    #[error("{0}")]
    Internal(String),
    /// The expression may cost more than its limit.
    #[error("too complex, exceeds cost limit")]
    TooComplex,
}
