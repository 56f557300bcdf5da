//! Errors, worded as the Go server words them.
//!
//! A server wraps the text of a [`DecodeError`] in one of two messages. Which one depends on whether the envelope
//! named a kind, see [`DecodeError::type_meta`].

/// A value that cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The kind is not built in, or has no protobuf form.
    #[error(
        "object {kind} of {api_version} does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
    )]
    NoType {
        /// The `apiVersion` of the value.
        api_version: String,
        /// The `kind` of the value.
        kind: String,
    },
    /// A value does not fit its type, which a decoded and normal object always does.
    #[error("{field}: not a valid {expected}")]
    Mismatch {
        /// The JSON name of the field.
        field: &'static str,
        /// The type's name.
        expected: &'static str,
    },
    /// The text to transcode is not JSON.
    #[error("the text is not valid JSON")]
    Syntax,
    /// The value nests deeper than [`DOCUMENT_DEPTH`](kubewright_machinery::limits::DOCUMENT_DEPTH).
    #[error("exceeded max depth")]
    TooDeep,
}

/// Bytes that cannot be decoded. `Display` is the Go server's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are not an envelope.
    #[error("{0}")]
    Envelope(String),
    /// Neither the envelope nor the caller names a kind, or a version.
    #[error(
        "Object '{what}' is missing in 'runtime.TypeMeta{{APIVersion:{api_version:?}, Kind:{kind:?}}}'"
    )]
    Missing {
        /// `Kind` or `apiVersion`.
        what: &'static str,
        /// The envelope's API version.
        api_version: String,
        /// The envelope's kind.
        kind: String,
    },
    /// The kind is not built in.
    #[error(
        "no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\""
    )]
    NoKind {
        /// The API version looked for.
        api_version: String,
        /// The kind looked for.
        kind: String,
    },
    /// The envelope is valid, its contents are not.
    #[error("{message}")]
    Body {
        /// The API version of the object.
        api_version: String,
        /// The kind of the object.
        kind: String,
        /// The description of the error.
        message: String,
    },
}

impl DecodeError {
    /// The API version and kind of the object, as far as they are known. The Go server answers
    /// `the object provided is unrecognized` where they are not, and `… cannot be handled as …` where they are.
    ///
    /// ```
    /// let error = kubewright_protobuf::decode(b"{}", ("v1", "Pod")).unwrap_err();
    /// assert_eq!(error.type_meta(), None);
    /// ```
    pub fn type_meta(&self) -> Option<(&str, &str)> {
        match self {
            DecodeError::Envelope(_) => None,
            DecodeError::Missing {
                api_version, kind, ..
            }
            | DecodeError::NoKind { api_version, kind }
            | DecodeError::Body {
                api_version, kind, ..
            } => Some((api_version, kind)),
        }
    }
}
