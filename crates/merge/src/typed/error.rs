//! Errors of values that do not fit their schema, with their paths.

use std::fmt;

use kubewright_machinery::limits::{MAX_PATH_BYTES, start_of};

/// A single problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The path, such as `.spec.replicas`; empty for the whole value.
    pub path: String,
    /// The description of the error.
    pub message: String,
}

/// All problems of a value; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Problems(vec![Problem {
            path: String::new(),
            message: message.into(),
        }])
    }

    pub(crate) fn too_deep() -> Self {
        Problems::new("exceeded max depth")
    }

    /// Returns the problems with a step added in front of their paths, as far as the bound of a path allows.
    pub(crate) fn below(mut self, element: impl fmt::Display) -> Self {
        let prefix = element.to_string();
        for problem in &mut self.0 {
            let room = MAX_PATH_BYTES.saturating_sub(problem.path.len());
            problem.path.insert_str(0, start_of(&prefix, room));
        }
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [problem] = self.0.as_slice() {
            return problem.fmt(f);
        }
        f.write_str("errors:")?;
        self.0
            .iter()
            .try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

impl std::error::Error for Problems {}
