//! Deletion: what happens to the dependents of a deleted object.

/// The treatment of the objects that a deleted object owns: `DeleteOptions.propagationPolicy`.
///
/// ```
/// use kubewright_machinery::PropagationPolicy;
///
/// assert_eq!(PropagationPolicy::parse("Orphan"), Some(PropagationPolicy::Orphan));
/// assert_eq!(PropagationPolicy::parse("orphan"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropagationPolicy {
    /// Dependents are deleted first; the object waits for them.
    Foreground,
    /// The object is deleted at once, dependents afterwards.
    Background,
    /// Dependents stay.
    Orphan,
}

impl PropagationPolicy {
    /// Parses the name on the wire.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "Foreground" => Some(Self::Foreground),
            "Background" => Some(Self::Background),
            "Orphan" => Some(Self::Orphan),
            _ => None,
        }
    }

    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Foreground => "Foreground",
            Self::Background => "Background",
            Self::Orphan => "Orphan",
        }
    }
}
