//! [`Decision`]: the answer of an authorizer.

use std::{borrow::Cow, fmt, sync::Arc};

/// The answer of an authorizer.
///
/// ```
/// use kubewright_apiserver::auth::{Decision, Verdict};
///
/// let decision = Decision::no_opinion("the server is read-only");
/// assert_eq!(decision.verdict, Verdict::NoOpinion);
/// assert!(!decision.is_allow());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The answer.
    pub verdict: Verdict,
    /// The reason, which a 403, an access review and the audit log show. May be empty.
    pub reason: Reason,
    /// A problem met on the way. A request that is not allowed is answered with 500 if there is one.
    pub error: Option<String>,
}

/// Whether an authorizer allows a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The request is allowed.
    Allow,
    /// The request is denied. Further authorizers are not asked.
    Deny,
    /// The authorizer has no rule for it. The request is denied unless another authorizer allows it.
    NoOpinion,
}

/// The reason of a decision. Reasons are seldom read, so one that costs something to write is written when it is.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::auth::Reason;
///
/// assert!(Reason::default().is_empty());
/// assert_eq!(Reason::from("on duty").to_string(), "on duty");
/// assert_eq!(Reason::shared(Arc::new(4711)).to_string(), "4711");
/// ```
#[derive(Clone)]
pub struct Reason(Text);

#[derive(Clone)]
enum Text {
    Written(Cow<'static, str>),
    Shared(Arc<dyn fmt::Display + Send + Sync>),
}

impl Decision {
    /// Allows the request, without a reason.
    pub fn allow() -> Self {
        Self::allow_because("")
    }

    /// Allows the request.
    pub fn allow_because(reason: impl Into<Reason>) -> Self {
        Self::new(Verdict::Allow, reason.into())
    }

    /// Denies the request. Further authorizers are not asked.
    pub fn deny(reason: impl Into<Reason>) -> Self {
        Self::new(Verdict::Deny, reason.into())
    }

    /// Leaves the decision to other authorizers.
    pub fn no_opinion(reason: impl Into<Reason>) -> Self {
        Self::new(Verdict::NoOpinion, reason.into())
    }

    /// Adds a problem met on the way.
    #[must_use]
    pub fn with_error(mut self, error: impl Into<String>) -> Self {
        self.error = Some(error.into());
        self
    }

    /// Returns whether the request is allowed.
    pub fn is_allow(&self) -> bool {
        self.verdict == Verdict::Allow
    }

    fn new(verdict: Verdict, reason: Reason) -> Self {
        Self {
            verdict,
            reason,
            error: None,
        }
    }
}

impl Reason {
    /// Returns a reason that is formatted on first use. It must not be empty.
    pub fn shared(text: Arc<dyn fmt::Display + Send + Sync>) -> Self {
        Self(Text::Shared(text))
    }

    /// Returns whether there is no reason.
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Text::Written(text) if text.is_empty())
    }
}

impl Default for Reason {
    fn default() -> Self {
        Self::from("")
    }
}

impl From<&'static str> for Reason {
    fn from(text: &'static str) -> Self {
        Self(Text::Written(text.into()))
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self(Text::Written(text.into()))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Text::Written(text) => f.write_str(text),
            Text::Shared(text) => text.fmt(f),
        }
    }
}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

impl PartialEq for Reason {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Text::Written(a), Text::Written(b)) => a == b,
            _ => self.to_string() == other.to_string(),
        }
    }
}

impl Eq for Reason {}
