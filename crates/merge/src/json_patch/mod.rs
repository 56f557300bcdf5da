//! JSON patch (RFC 6902) with the semantics, limits and messages of kube-apiserver.
//!
//! [`Patch::decode`] reads a request body, [`apply`] runs the operations in order on a document.
//!
//! Kubernetes departs from the RFC in places that clients can observe, and so does this module:
//! - `replace` of a key that an object lacks adds it; `copy` of such a key adds `null`; `add` without a value adds
//!   `null`; `test` of `null` holds for a missing key.
//! - Array indices may be negative and count from the end (`-1` in `add` appends).
//! - Text before the first `/` of a path is ignored.
//! - `test` compares scalars by their JSON text: `1.0` is not `1`, and a value with `<`, `>` or `&` equals only if the
//!   patch writes these characters escaped, as the server does.
//!
//! Invariants: no more than [`MAX_OPERATIONS`] operations, no more than [`MAX_COPY_BYTES`] copied, no more than [`MAX_WORK`]
//! elements moved or read, no document deeper than [`VALUE_DEPTH`]. A failed patch yields no document.

mod decode;
mod equality;
mod pointer;
#[cfg(test)]
mod tests;

use kubewright_machinery::{
    go::JsonStyle,
    limits::{VALUE_DEPTH, depth_of},
};
use pointer::Place;
use serde_json::Value;
use serde_json::value::RawValue;

/// The maximum number of operations of a patch.
pub const MAX_OPERATIONS: usize = 10_000;

/// The maximum number of bytes that the `copy` operations of one patch may add, measured as JSON.
pub const MAX_COPY_BYTES: usize = kubewright_machinery::limits::MAX_REQUEST_BYTES;

/// The maximum number of array elements that one patch may move to make or close gaps, together with the values and bytes that
/// it reads to compare or move them.
///
/// Kubernetes has no such bound: there, 10,000 insertions at the start of a long array take as long as they take.
pub const MAX_WORK: usize = 1 << 24;

/// A decoded patch: operations in order.
#[derive(Debug, Default)]
pub struct Patch {
    operations: Vec<Operation>,
    strict_errors: Vec<String>,
}

/// A patch body that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The body is not JSON. Kubernetes responds with 400.
    #[error("{0}")]
    Syntax(#[from] serde_json::Error),
    /// The body is JSON of another shape. Kubernetes responds with 400 and this text.
    #[error("{0}")]
    Shape(String),
    /// The patch has too many operations. Kubernetes responds with 413 and this text.
    #[error("The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {0}")]
    TooManyOperations(usize),
}

/// A patch that cannot be applied. Kubernetes responds with 422.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApplyError {
    message: String,
    too_costly: bool,
}

impl ApplyError {
    /// Reports whether a `test` found another value than it expected.
    pub fn is_failed_test(&self) -> bool {
        self.message.ends_with(": test failed")
    }

    /// Reports whether the patch takes more than [`MAX_WORK`]. The right response is a 413.
    ///
    /// ```
    /// use kubewright_merge::json_patch::{Decoding, Patch, apply};
    /// use serde_json::json;
    ///
    /// let operations = vec![json!({"op": "add", "path": "/items/0", "value": 1}); 2000];
    /// let patch = Patch::decode(json!(operations).to_string().as_bytes(), Decoding::Checked)?;
    /// assert!(apply(json!({"items": vec![1; 1000]}), &patch).is_ok());
    ///
    /// let error = apply(json!({"items": vec![1; 100_000]}), &patch).unwrap_err();
    /// assert!(error.is_too_costly());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_too_costly(&self) -> bool {
        self.too_costly
    }
}

/// The strictness with which a body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoding {
    /// `fieldValidation=Ignore`: only the outer shape is checked.
    Lenient,
    /// `fieldValidation=Warn` or `Strict`: members of an operation must have the right type; unknown and repeated ones
    /// are listed in [`Patch::strict_errors`].
    Checked,
}

/// Applies `patch` to `document`.
///
/// # Errors
///
/// Returns an error if an operation fails; the document is lost.
pub fn apply(document: Value, patch: &Patch) -> Result<Value, ApplyError> {
    let mut run = Run {
        depth: depth_of(&document),
        document,
        copied: 0,
        work: 0,
    };
    for operation in &patch.operations {
        run.step(operation)?;
    }
    Ok(run.document)
}

impl Patch {
    /// Reads a patch from a request body.
    ///
    /// # Errors
    ///
    /// Returns an error if the body is not a JSON patch, or has too many operations.
    ///
    /// ```
    /// use kubewright_merge::json_patch::{Decoding, Patch, apply};
    /// use serde_json::json;
    ///
    /// let body = br#"[{"op": "replace", "path": "/replicas", "value": 3}]"#;
    /// let patch = Patch::decode(body, Decoding::Checked)?;
    /// assert_eq!(apply(json!({"replicas": 1}), &patch)?, json!({"replicas": 3}));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode(body: &[u8], decoding: Decoding) -> Result<Patch, DecodeError> {
        decode::decode(body, decoding)
    }

    /// Returns the number of operations.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Reports whether the patch has no operations.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Returns unknown and repeated members, worded as the server words them: `json patch unknown field "[0].foo"`.
    pub fn strict_errors(&self) -> &[String] {
        &self.strict_errors
    }
}

/// One operation; members are kept as they were written, since each one fails in its own words when it is used.
#[derive(Debug, Default)]
struct Operation {
    op: Member,
    path: Member,
    from: Member,
    /// The outer `None`: no such member or `null`, which are the same to every operation.
    value: Option<Box<RawValue>>,
}

/// A member that should be a string.
#[derive(Debug, Default)]
enum Member {
    #[default]
    Missing,
    Text(String),
    /// Some other JSON type, by its Go name.
    Wrong(&'static str),
}

struct Run {
    document: Value,
    copied: usize,
    /// The elements moved and the values and bytes read so far.
    work: usize,
    /// An upper bound of the document's depth.
    depth: usize,
}

const MISSING: &str = "missing value";

impl Run {
    fn step(&mut self, operation: &Operation) -> Result<(), ApplyError> {
        match operation.kind() {
            "add" => self.add(operation),
            "remove" => self.remove(operation),
            "replace" => self.replace(operation),
            "move" => self.relocate(operation),
            "test" => self.test(operation),
            "copy" => self.copy(operation),
            other => fail(format!("Unexpected kind: {other}")),
        }
    }

    fn add(&mut self, operation: &Operation) -> Result<(), ApplyError> {
        let Member::Text(path) = &operation.path else {
            return fail(format!("add operation failed to decode path: {MISSING}"));
        };
        let value = operation.parsed_value()?;
        self.deepen(path, depth_of(&value))?;
        let Some(Place { container, key }) = pointer::find(&mut self.document, path) else {
            return fail(format!(
                "add operation does not apply: doc is missing path: \"{path}\": {MISSING}"
            ));
        };
        spend(&mut self.work, container.elements_after(&key))?;
        container
            .add(&key, value)
            .map_err(|e| error(format!("error in add for path: '{path}': {e}")))
    }

    fn remove(&mut self, operation: &Operation) -> Result<(), ApplyError> {
        let Member::Text(path) = &operation.path else {
            return fail(format!("remove operation failed to decode path: {MISSING}"));
        };
        let Some(Place { container, key }) = pointer::find(&mut self.document, path) else {
            return fail(format!(
                "remove operation does not apply: doc is missing path: \"{path}\": {MISSING}"
            ));
        };
        spend(&mut self.work, container.elements_after(&key))?;
        match container.remove(&key) {
            Ok(_) => Ok(()),
            Err(e) => fail(format!("error in remove for path: '{path}': {e}")),
        }
    }

    fn replace(&mut self, operation: &Operation) -> Result<(), ApplyError> {
        let path = operation
            .path("operation missing path field")
            .map_err(|e| error(format!("replace operation failed to decode path: {e}")))?;
        let value = operation.parsed_value()?;
        if path.is_empty() {
            if !(value.is_object() || value.is_array()) {
                return fail("replace operation value must be object or array: %!w(<nil>)".into());
            }
            self.depth = depth_of(&value);
            self.document = value;
            return Ok(());
        }
        self.deepen(path, depth_of(&value))?;
        let Some(Place { mut container, key }) = pointer::find(&mut self.document, path) else {
            return fail(format!(
                "replace operation does not apply: doc is missing path: {path}: {MISSING}"
            ));
        };
        if container.get(&key).is_err() {
            return fail(format!(
                "replace operation does not apply: doc is missing key: {path}: {MISSING}"
            ));
        }
        container
            .set(&key, value)
            .map_err(|e| error(format!("error in remove for path: '{path}': {e}")))
    }

    fn relocate(&mut self, operation: &Operation) -> Result<(), ApplyError> {
        let from = operation
            .from("operation, missing from field")
            .map_err(|e| error(format!("move operation failed to decode from: {e}")))?;
        let Some(Place { container, key }) = pointer::find(&mut self.document, from) else {
            return fail(format!(
                "move operation does not apply: doc is missing from path: {from}: {MISSING}"
            ));
        };
        spend(&mut self.work, container.elements_after(&key))?;
        let value = container
            .remove(&key)
            .map_err(|e| error(format!("error in move for path: '{key}': {e}")))?;
        let path = operation
            .path("operation missing path field")
            .map_err(|e| error(format!("move operation failed to decode path: {e}")))?;
        self.deepen_moved(path, &value)?;
        let Some(Place { container, key }) = pointer::find(&mut self.document, path) else {
            return fail(format!(
                "move operation does not apply: doc is missing destination path: {path}: {MISSING}"
            ));
        };
        spend(&mut self.work, container.elements_after(&key))?;
        container
            .add(&key, value)
            .map_err(|e| error(format!("error in move for path: '{path}': {e}")))
    }

    fn test(&mut self, operation: &Operation) -> Result<(), ApplyError> {
        let path = operation
            .path("operation missing path field")
            .map_err(|e| error(format!("test operation failed to decode path: {e}")))?;
        let expected = operation.value.as_deref();
        // Nested values are read once for each level around them.
        let read = expected.map_or(0, |expected| expected.get().len());
        spend(&mut self.work, read)?;
        let holds = if path.is_empty() {
            equality::same(&self.document, expected)
        } else {
            let Some(Place { mut container, key }) = pointer::find(&mut self.document, path) else {
                return fail(format!(
                    "test operation does not apply: is missing path: {path}: {MISSING}"
                ));
            };
            match container.get(&key) {
                Ok(found) => equality::same(found.unwrap_or(&Value::Null), expected),
                Err(e) => return fail(format!("error in test for path: '{path}': {e}")),
            }
        };
        if holds {
            Ok(())
        } else {
            fail(format!("testing value {path} failed: test failed"))
        }
    }

    fn copy(&mut self, operation: &Operation) -> Result<(), ApplyError> {
        let from = operation
            .from("operation, missing from field")
            .map_err(|e| error(format!("copy operation failed to decode from: {e}")))?;
        let Some(Place { mut container, key }) = pointer::find(&mut self.document, from) else {
            return fail(format!(
                "copy operation does not apply: doc is missing from path: {from}: {MISSING}"
            ));
        };
        let source = match container.get(&key) {
            Ok(found) => found,
            Err(e) => return fail(format!("error in copy for from: '{from}': {e}")),
        };
        if let Some(source) = source.filter(|v| !v.is_null()) {
            self.copied += json_size(source);
        }
        if self.copied > MAX_COPY_BYTES {
            return fail(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the limit {MAX_COPY_BYTES}",
                self.copied
            ));
        }
        let value = source.cloned().unwrap_or(Value::Null);
        let Member::Text(path) = &operation.path else {
            return fail(format!("copy operation failed to decode path: {MISSING}"));
        };
        self.deepen(path, depth_of(&value))?;
        let Some(Place { container, key }) = pointer::find(&mut self.document, path) else {
            return fail(format!(
                "copy operation does not apply: doc is missing destination path: {path}: {MISSING}"
            ));
        };
        spend(&mut self.work, container.elements_after(&key))?;
        container
            .add(&key, value)
            .map_err(|e| error(format!("error while adding value during copy: {e}")))
    }

    /// Notes that a value of that depth goes to `path`.
    fn deepen(&mut self, path: &str, value: usize) -> Result<(), ApplyError> {
        let reached = path.matches('/').count() + value;
        self.depth = self.depth.max(reached);
        if reached > VALUE_DEPTH {
            fail("exceeded max depth".into())
        } else {
            Ok(())
        }
    }

    /// As [`Run::deepen`], measuring the value only when the cheap bound does not do.
    fn deepen_moved(&mut self, path: &str, value: &Value) -> Result<(), ApplyError> {
        let below = path.matches('/').count();
        if below + self.depth <= VALUE_DEPTH {
            self.depth += below;
            return Ok(());
        }
        // Both are measured by reading them whole.
        let size = values_in(&self.document).saturating_add(values_in(value));
        spend(&mut self.work, size)?;
        self.depth = depth_of(&self.document);
        self.deepen(path, depth_of(value))
    }
}

impl Operation {
    fn kind(&self) -> &str {
        match &self.op {
            Member::Text(op) => op,
            Member::Missing | Member::Wrong(_) => "unknown",
        }
    }

    fn path(&self, missing: &str) -> Result<&str, String> {
        self.path.text(missing)
    }

    fn from(&self, missing: &str) -> Result<&str, String> {
        self.from.text(missing)
    }

    fn parsed_value(&self) -> Result<Value, ApplyError> {
        match &self.value {
            None => Ok(Value::Null),
            Some(raw) => {
                serde_json::from_str(raw.get()).map_err(|_| error("exceeded max depth".into()))
            }
        }
    }
}

impl Member {
    fn text(&self, missing: &str) -> Result<&str, String> {
        match self {
            Member::Text(text) => Ok(text),
            Member::Missing => Err(format!("{missing}: {MISSING}")),
            Member::Wrong(kind) => Err(format!(
                "json: cannot unmarshal {kind} into Go value of type string"
            )),
        }
    }
}

/// Returns the number of values in a value, itself included.
fn values_in(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(values_in).sum::<usize>() + 1,
        Value::Object(fields) => fields.values().map(values_in).sum::<usize>() + 1,
        _ => 1,
    }
}

fn json_size(value: &Value) -> usize {
    let mut text = String::new();
    JsonStyle::Standard.write(&mut text, value);
    text.len()
}

fn error(message: String) -> ApplyError {
    ApplyError {
        message,
        too_costly: false,
    }
}

/// Counts work, and fails if it is too much.
fn spend(work: &mut usize, more: usize) -> Result<(), ApplyError> {
    *work = work.saturating_add(more);
    if *work <= MAX_WORK {
        return Ok(());
    }
    Err(ApplyError {
        message: format!(
            "the JSON patch moves or reads more than {MAX_WORK} elements; change long arrays at their end, or send a merge patch"
        ),
        too_costly: true,
    })
}

fn fail<T>(message: String) -> Result<T, ApplyError> {
    Err(error(message))
}
