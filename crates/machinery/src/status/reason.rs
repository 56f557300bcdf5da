//! Reasons of failures, for programs.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The machine-readable reason of a [`Status`](super::Status).
///
/// ```
/// use kubewright_machinery::status::Reason;
///
/// assert_eq!(Reason::from("NotFound"), Reason::NotFound);
/// assert_eq!(Reason::from("Teapot").as_str(), "Teapot");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No reason is given; the message is all there is.
    #[default]
    Unknown,
    /// 401: the client is not authenticated.
    Unauthorized,
    /// 403: the client may not do this.
    Forbidden,
    /// 404: the object or resource does not exist.
    NotFound,
    /// 409: an object of that name exists.
    AlreadyExists,
    /// 409: the object has changed, or others own the fields.
    Conflict,
    /// 410: the object is no longer there, and no new one is known.
    Gone,
    /// 422: the object breaks rules.
    Invalid,
    /// 500: the operation could not be completed in time and may be retried.
    ServerTimeout,
    /// 500: an object could not be read from the store.
    StoreReadError,
    /// 504: the request took too long.
    Timeout,
    /// 429: the client sends too many requests.
    TooManyRequests,
    /// 400: the request makes no sense.
    BadRequest,
    /// 405: the resource does not have this verb.
    MethodNotAllowed,
    /// 406: nothing that the client accepts can be sent.
    NotAcceptable,
    /// 413: the body is too large.
    RequestEntityTooLarge,
    /// 415: the body is of a type that is not supported.
    UnsupportedMediaType,
    /// 500: the server failed.
    InternalError,
    /// 410: the requested revision has been compacted.
    Expired,
    /// 503: the server is not available.
    ServiceUnavailable,
    /// Any other reason.
    Other(Box<str>),
}

static KNOWN: [(Reason, &str); 20] = [
    (Reason::Unknown, ""),
    (Reason::Unauthorized, "Unauthorized"),
    (Reason::Forbidden, "Forbidden"),
    (Reason::NotFound, "NotFound"),
    (Reason::AlreadyExists, "AlreadyExists"),
    (Reason::Conflict, "Conflict"),
    (Reason::Gone, "Gone"),
    (Reason::Invalid, "Invalid"),
    (Reason::ServerTimeout, "ServerTimeout"),
    (Reason::StoreReadError, "StorageReadError"),
    (Reason::Timeout, "Timeout"),
    (Reason::TooManyRequests, "TooManyRequests"),
    (Reason::BadRequest, "BadRequest"),
    (Reason::MethodNotAllowed, "MethodNotAllowed"),
    (Reason::NotAcceptable, "NotAcceptable"),
    (Reason::RequestEntityTooLarge, "RequestEntityTooLarge"),
    (Reason::UnsupportedMediaType, "UnsupportedMediaType"),
    (Reason::InternalError, "InternalError"),
    (Reason::Expired, "Expired"),
    (Reason::ServiceUnavailable, "ServiceUnavailable"),
];

impl Reason {
    /// Returns the reason as it is written in a `Status`; empty for [`Reason::Unknown`].
    pub fn as_str(&self) -> &str {
        if let Self::Other(text) = self {
            return text;
        }
        let known = KNOWN.iter().find(|(reason, _)| reason == self);
        known.map_or("", |(_, text)| *text)
    }

    /// Reports whether no reason is given.
    pub fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        let known = KNOWN.iter().find(|(_, known)| *known == text);
        match known {
            Some((reason, _)) => reason.clone(),
            None => Self::Other(text.into()),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Ok(Self::from(&*text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_written_as_they_are_read() {
        for (reason, text) in &KNOWN {
            assert_eq!(Reason::from(*text), *reason);
            assert_eq!(reason.as_str(), *text);
        }
        let other: Reason = serde_json::from_str("\"Teapot\"").unwrap();
        assert_eq!(other, Reason::Other("Teapot".into()));
        assert_eq!(serde_json::to_string(&other).unwrap(), "\"Teapot\"");
    }
}
