//! Problems that only a strict decoder rejects: unknown and duplicate fields.
//!
//! The server decides what becomes of them: nothing, warnings, or a refusal.

use std::fmt;

use kubewright_machinery::go::quote;

/// The number of problems that are kept. Further ones are dropped, as the real decoder does.
const MAX_PROBLEMS: usize = 100;

/// One thing a strict decoder objects to. `Display` is its text in a strict decoding error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A field the type does not have, by path: `spec.containers[0].imagee`.
    Unknown(String),
    /// A field that was given more than once, by path.
    Duplicate(String),
    /// A finding of another decoder in its own words, as of YAML with repeated keys.
    Other(String),
}

/// The start of the messages in which the YAML library lists problems.
const YAML_LIST: &str = "yaml: unmarshal errors:\n";

impl Problem {
    /// Returns the texts of the warnings for the problem: one for each line of a list.
    pub fn warnings(&self) -> Vec<String> {
        let text = self.to_string();
        match text.strip_prefix(YAML_LIST) {
            Some(list) => list.lines().map(|line| line.trim().to_owned()).collect(),
            None => vec![text],
        }
    }
}

/// The problems of a document, in the order the real server reports them, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    items: Vec<Problem>,
}

impl Problems {
    /// Adds a problem unless it is known already or there are too many of them.
    pub fn push(&mut self, problem: Problem) {
        if self.items.len() < MAX_PROBLEMS && !self.items.contains(&problem) {
            self.items.push(problem);
        }
    }

    /// Puts a problem before all others.
    pub fn push_first(&mut self, problem: Problem) {
        self.items.insert(0, problem);
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All of them, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.items.iter()
    }

    /// The paths of unknown fields.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter_map(|p| match p {
            Problem::Unknown(path) => Some(path.as_str()),
            _ => None,
        })
    }

    /// The paths of fields given more than once.
    pub fn duplicate(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter_map(|p| match p {
            Problem::Duplicate(path) => Some(path.as_str()),
            _ => None,
        })
    }
}

impl IntoIterator for Problems {
    type Item = Problem;
    type IntoIter = std::vec::IntoIter<Problem>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

/// `strict decoding error: unknown field "spec.foo", duplicate field "spec.bar"`
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("strict decoding error: ")?;
        for (i, problem) in self.items.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Unknown(path) => write!(f, "unknown field {}", quote(path)),
            Problem::Duplicate(path) => write!(f, "duplicate field {}", quote(path)),
            Problem::Other(text) => f.write_str(text),
        }
    }
}
