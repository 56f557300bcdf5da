//! [`CallError`]: errors of calls.

use std::fmt;

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct CallError {
    pub(crate) code: Code,
    /// Whether etcd may have processed the request without a response.
    pub(crate) is_ambiguous: bool,
    pub(crate) message: String,
}

/// The code of a gRPC status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) u32);

impl Code {
    pub(crate) const OK: Self = Self(0);
    pub(crate) const UNKNOWN: Self = Self(2);
    pub(crate) const INVALID_ARGUMENT: Self = Self(3);
    pub(crate) const DEADLINE_EXCEEDED: Self = Self(4);
    pub(crate) const NOT_FOUND: Self = Self(5);
    pub(crate) const PERMISSION_DENIED: Self = Self(7);
    pub(crate) const RESOURCE_EXHAUSTED: Self = Self(8);
    pub(crate) const OUT_OF_RANGE: Self = Self(11);
    pub(crate) const UNAVAILABLE: Self = Self(14);
    pub(crate) const UNAUTHENTICATED: Self = Self(16);
}

impl CallError {
    /// Returns the error of a request that was not sent.
    pub(crate) fn unsent(message: impl fmt::Display) -> Self {
        Self {
            code: Code::UNAVAILABLE,
            is_ambiguous: false,
            message: message.to_string(),
        }
    }

    /// Returns the error of a request without a response.
    pub(crate) fn unanswered(code: Code, message: impl fmt::Display) -> Self {
        Self {
            code,
            is_ambiguous: true,
            message: message.to_string(),
        }
    }

    /// Returns the error of a response.
    pub(crate) fn answered(code: Code, message: String) -> Self {
        // The outcome is unknown if a leader steps down, a member stops, or a proposal times out.
        let transient = [
            Code::UNAVAILABLE,
            Code::DEADLINE_EXCEEDED,
            Code::UNKNOWN,
            Code(1),
            Code(13),
        ];
        Self {
            code,
            is_ambiguous: transient.contains(&code),
            message,
        }
    }

    /// Returns whether another attempt, at this or another member, may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        self.is_ambiguous || self.code == Code::UNAVAILABLE
    }

    /// Returns whether a revision was compacted.
    pub(crate) fn is_compacted(&self) -> bool {
        self.code == Code::OUT_OF_RANGE && self.message.contains("has been compacted")
    }

    /// Returns whether a revision is in the future.
    pub(crate) fn is_future(&self) -> bool {
        self.code == Code::OUT_OF_RANGE && self.message.contains("future revision")
    }

    /// Returns whether logging in again may help.
    pub(crate) fn is_login_over(&self) -> bool {
        let is_old = self.message.contains("revision of auth store is old");
        self.code == Code::UNAUTHENTICATED || is_old
    }
}
