//! [`Refusal`]: what is wrong and what to do about it, in one sentence.

use std::{fmt, io, path::Path};

/// Why nothing was done. It reads as one sentence: what is wrong, then what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    /// What is wrong, and what to do.
    pub fn new(wrong: impl fmt::Display, advice: impl fmt::Display) -> Self {
        Refusal(format!("{wrong}; {advice}"))
    }

    /// A file or directory that cannot be used.
    pub fn io(doing: &str, path: &Path, error: &io::Error) -> Self {
        let advice = match error.kind() {
            io::ErrorKind::PermissionDenied => "check who owns it and what you may do there",
            io::ErrorKind::NotFound => "check the path",
            io::ErrorKind::StorageFull => "make room on the disk",
            _ => "look at the path and try again",
        };
        Refusal(format!(
            "cannot {doing} {}: {error}; {advice}",
            path.display()
        ))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}
