//! Objects out of a schema: for property tests, and for samples.
//!
//! [`Generator`] makes objects that the server takes. It knows types, bounds, patterns, formats, list types and defaults, and
//! finds values for CEL rules and for `anyOf`, `oneOf` and `not` by trying, place by place. The same seed gives the same
//! object.
//!
//! | module | what |
//! |---|---|
//! | [`place`] | where a value can stand |
//! | [`rng`] | numbers from a seed |
//! | `sampler` | values of one place of the schema |
//! | `text` | texts of a pattern or a format |
//! | [`mod@mutate`] | objects that are wrong somewhere |

pub mod mutate;
pub mod place;
pub mod rng;
mod sampler;
mod text;

use kubewright_machinery::Status;
use serde_json::{Value, json};

use crate::{definition::CustomKind, judge::Judge};
pub use mutate::mutate;
pub use place::Place;
pub use rng::Rng;
use sampler::{Effort, Sampler};

/// How often a whole object is tried.
const TRIES: usize = 200;

/// Makes objects of one kind.
pub struct Generator<'a> {
    judge: &'a Judge,
    api_version: String,
    kind: String,
    sampler: Sampler,
}

/// No object was found that fits all rules.
#[derive(Debug, thiserror::Error)]
#[error("no valid object was found in {TRIES} tries; the last one: {0}")]
pub struct NotFound(Status);

impl Generator<'static> {
    /// A generator of objects of a type.
    pub fn of<K: CustomKind>() -> Self {
        Self::new(K::judge(), &K::api_version(&()), &K::kind(&()))
    }
}

impl<'a> Generator<'a> {
    /// A generator of what a judge takes.
    pub fn new(judge: &'a Judge, api_version: &str, kind: &str) -> Self {
        Self {
            judge,
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            sampler: Sampler::new(judge.document(), 0),
        }
    }

    /// An object that the server would take, with a status if the kind has one.
    // The error holds the server's whole answer.
    #[allow(clippy::result_large_err)]
    pub fn object(&self, rng: &mut Rng) -> Result<Value, NotFound> {
        self.find(rng, Effort::Any)
    }

    /// An object with little more than it needs.
    #[allow(clippy::result_large_err)]
    pub fn minimal(&self, rng: &mut Rng) -> Result<Value, NotFound> {
        let small = self.find(rng, Effort::Least);
        small.or_else(|_| self.find(rng, Effort::Any))
    }

    /// Every place of the schema, the whole object first.
    pub fn places(&self) -> Vec<Place<'_>> {
        let mut out = Vec::new();
        place::collect(&self.sampler, &mut Vec::new(), &mut out);
        out
    }

    /// Makes sure that an object has a value at a place, with as little as possible around it. The answer is where, as a
    /// JSON pointer.
    pub fn fill(&self, object: &mut Value, place: &Place<'_>, rng: &mut Rng) -> Option<String> {
        place::fill(&self.sampler, object, &place.steps, rng)
    }

    /// A value of a place that fits its types and bounds, but its rules only by chance: little or much of it.
    pub fn unruly(&self, place: &Place<'_>, much: bool, rng: &mut Rng) -> Option<Value> {
        let effort = if much { Effort::Any } else { Effort::Least };
        place::unruly(&self.sampler, &place.steps, rng, effort)
    }

    #[allow(clippy::result_large_err)]
    fn find(&self, rng: &mut Rng, effort: Effort) -> Result<Value, NotFound> {
        let mut tries = 0;
        loop {
            let object = self.candidate(rng, effort);
            tries += 1;
            match self.accepts(&object) {
                Ok(()) => return Ok(object),
                Err(status) if tries >= TRIES => return Err(NotFound(status)),
                Err(_) => {}
            }
        }
    }

    /// The status is judged too, by writing it to the object that was taken.
    #[allow(clippy::result_large_err)]
    fn accepts(&self, object: &Value) -> Result<(), Status> {
        let stored = self.judge.create(object)?;
        match object.get("status") {
            Some(_) => self.judge.update_status(object, &stored).map(drop),
            None => Ok(()),
        }
    }

    fn candidate(&self, rng: &mut Rng, effort: Effort) -> Value {
        let mut object = self.sampler.sample(rng, effort);
        if !object.is_object() {
            object = json!({});
        }
        object["apiVersion"] = json!(self.api_version);
        object["kind"] = json!(self.kind);
        object["metadata"] = json!({"name": format!("sample-{}", rng.below(1_000_000))});
        object
    }
}
