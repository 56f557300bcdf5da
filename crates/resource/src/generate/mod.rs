//! Generates objects from a schema, for property tests and samples.
//!
//! [`Generator`] generates objects that the server accepts. It knows types, bounds, patterns, formats, list types and
//! defaults; for CEL rules and for `anyOf`, `oneOf` and `not` it tries values until one is accepted. The same seed gives the
//! same object.

mod mutate;
mod path;
mod rng;
mod sampler;
mod text;

use kubewright_machinery::Status;
use serde_json::{Value, json};

use crate::{custom_kind::CustomKind, validator::Validator};
pub use mutate::mutate;
pub use path::{SchemaPath, Step};
pub use rng::Rng;
use sampler::Sampler;
pub use sampler::Size;

/// The maximum number of objects tried.
const MAX_TRIES: usize = 200;

/// Generates valid objects of one kind.
///
/// ```
/// # extern crate kubewright_resource as kubewright;
/// use kube::CustomResource;
/// use kubewright::{CustomKind, Schema, generate::{Generator, Rng}};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
/// #[kube(group = "crew.example.com", version = "v1", kind = "Captain", namespaced)]
/// pub struct CaptainSpec {
///     #[schema(minimum = 1, maximum = 9)]
///     mates: i32,
/// }
///
/// let object = Generator::of::<Captain>().object(&mut Rng::new(7)).unwrap();
/// let captain: Captain = serde_json::from_value(object).unwrap();
/// assert!((1..=9).contains(&captain.spec.mates));
/// ```
pub struct Generator<'a> {
    validator: &'a Validator,
    api_version: String,
    kind: String,
    sampler: Sampler,
}

/// No generated object was accepted.
#[derive(Debug, thiserror::Error)]
#[error("no valid object was found in {MAX_TRIES} tries; the last was rejected: {0}")]
pub struct NotFound(Status);

impl Generator<'static> {
    /// Creates a generator for objects of a type.
    pub fn of<K: CustomKind>() -> Self {
        Self::new(K::validator(), &K::api_version(&()), &K::kind(&()))
    }
}

impl<'a> Generator<'a> {
    /// Creates a generator for objects that a validator accepts.
    pub fn new(validator: &'a Validator, api_version: &str, kind: &str) -> Self {
        Self {
            validator,
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            sampler: Sampler::new(validator.document(), 0),
        }
    }

    /// Generates an object that the server would accept, possibly with a status.
    ///
    /// # Errors
    ///
    /// Fails if none of the generated objects was accepted.
    // The error holds the server's complete answer.
    #[allow(clippy::result_large_err)]
    pub fn object(&self, rng: &mut Rng) -> Result<Value, NotFound> {
        self.find(rng, Size::Any)
    }

    /// Generates an object with little more than the required fields.
    ///
    /// # Errors
    ///
    /// Fails if none of the generated objects was accepted.
    #[allow(clippy::result_large_err)]
    pub fn minimal(&self, rng: &mut Rng) -> Result<Value, NotFound> {
        let small = self.find(rng, Size::Minimal);
        small.or_else(|_| self.find(rng, Size::Any))
    }

    /// Returns every path of the schema, the whole object first.
    pub fn paths(&self) -> Vec<SchemaPath<'_>> {
        let mut out = Vec::new();
        path::collect(&self.sampler, &mut Vec::new(), &mut out);
        out
    }

    /// Gives an object a value at a path if it has none, adding as little as possible. Returns the JSON pointer of the value.
    pub fn fill(&self, object: &mut Value, path: &SchemaPath<'_>, rng: &mut Rng) -> Option<String> {
        path::fill(&self.sampler, object, &path.steps, rng)
    }

    /// Generates a value for a path that fits its types and bounds. CEL rules and alternatives are ignored.
    pub fn sample_ignoring_rules(
        &self,
        path: &SchemaPath<'_>,
        size: Size,
        rng: &mut Rng,
    ) -> Option<Value> {
        path::sample_ignoring_rules(&self.sampler, &path.steps, rng, size)
    }

    #[allow(clippy::result_large_err)]
    fn find(&self, rng: &mut Rng, size: Size) -> Result<Value, NotFound> {
        let mut tries = 0;
        loop {
            let object = self.candidate(rng, size);
            tries += 1;
            match self.accepts(&object) {
                Ok(()) => return Ok(object),
                Err(status) if tries >= MAX_TRIES => return Err(NotFound(status)),
                Err(_) => {}
            }
        }
    }

    /// Validates the object, and its status as an update of the accepted object.
    #[allow(clippy::result_large_err)]
    fn accepts(&self, object: &Value) -> Result<(), Status> {
        let stored = self.validator.create(object)?;
        match object.get("status") {
            Some(_) => self.validator.update_status(object, &stored).map(drop),
            None => Ok(()),
        }
    }

    fn candidate(&self, rng: &mut Rng, size: Size) -> Value {
        let mut object = self.sampler.sample(rng, size);
        if !object.is_object() {
            object = json!({});
        }
        object["apiVersion"] = json!(self.api_version);
        object["kind"] = json!(self.kind);
        object["metadata"] = json!({"name": format!("sample-{}", rng.below(1_000_000))});
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_that_asks_for_too_much_has_no_objects() {
        for spec in [
            json!({"type": "array", "minItems": i64::MAX, "items": {"type": "integer"}}),
            json!({"type": "string", "minLength": 1e300}),
            json!({"type": "object", "minProperties": 1_000_000_000_000_i64, "additionalProperties": {"type": "boolean"}}),
        ] {
            let root =
                json!({"type": "object", "required": ["spec"], "properties": {"spec": spec}});
            let generated = Sampler::new(&root, 0).sample(&mut Rng::new(1), Size::Minimal);
            assert!(generated.to_string().len() < 1_000_000, "{root}");
        }
    }
}
