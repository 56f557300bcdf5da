//! Bodies and patched objects of kinds that are declared by definitions. They are plain JSON: the kind is judged with the
//! object, later; fields are judged by the schema.

use kubewright_machinery::{
    Status,
    gvk::{GroupVersion, GroupVersionKind},
    status,
};
use kubewright_schema::{
    Node, Problem, Problems, TYPE_META_CONTEXT, decode_untyped, read_type_meta, retype_numbers,
};
use serde_json::Value;

use super::decode::{judge, unhandled, unrecognized};
use crate::{
    registry::Custom,
    request::{RequestContext, options::FieldValidation},
};

/// A document on its way to become an object.
pub(super) struct Document<'a> {
    /// The kind that the endpoint takes.
    pub(super) kind: &'a GroupVersionKind,
    /// What is known about the kind.
    pub(super) custom: &'a dyn Custom,
    /// The document as it was sent.
    pub(super) body: &'a [u8],
    /// What becomes of unknown fields.
    pub(super) validation: FieldValidation,
}

impl Document<'_> {
    /// Reads the document. Its kind may be another one, its version may not.
    pub(super) fn read(
        &self,
        cx: &RequestContext,
        node: Node<'_>,
        first: Option<Problem>,
    ) -> Result<Value, Status> {
        let (kind, body) = (self.kind, self.body);
        let (api_version, given) = match read_type_meta(&node) {
            Ok((api_version, given)) => (api_version.to_owned(), given.to_owned()),
            Err(e) => {
                let text = format!("{TYPE_META_CONTEXT}{e}");
                return Err(unrecognized(kind, &text, body));
            }
        };
        let Some(version) = GroupVersion::parse(&api_version) else {
            let text = format!("unexpected GroupVersion string: {api_version}");
            return Err(unrecognized(kind, &text, body));
        };
        if given.is_empty() {
            return Err(unrecognized(
                kind,
                &kind_missing(&String::from_utf8_lossy(body)),
                body,
            ));
        }
        let given = version.with_kind(&given);
        let refuse = |text: &str| unhandled(&given, kind, text);
        let (mut object, mut problems) =
            decode_untyped(node).map_err(|e| refuse(&e.to_string()))?;
        if let Some(problem) = first {
            problems.push_first(problem);
        }
        let track = self.validation != FieldValidation::Ignore;
        let unknown = self.custom.conform(&mut object, track);
        add_unknown(&mut problems, unknown.map_err(|e| refuse(&e))?);
        judge(cx, kind, &problems, self.validation)?;
        if given.group_version() != kind.group_version() {
            return Err(status::bad_request(format!(
                "the API version in the data ({}) does not match the expected API version ({})",
                given.group_version(),
                kind.group_version()
            )));
        }
        Ok(object)
    }
}

/// Brings a patched object back into shape. The error is the text of a refusal.
pub(super) fn conform_patched(
    custom: &dyn Custom,
    object: &mut Value,
    problems: &mut Problems,
) -> Result<(), String> {
    if object["kind"].as_str().unwrap_or_default().is_empty() {
        return Err(kind_missing(&object.to_string()));
    }
    retype_numbers(object);
    add_unknown(problems, custom.conform(object, true)?);
    Ok(())
}

fn add_unknown(problems: &mut Problems, unknown: Vec<String>) {
    for path in unknown {
        problems.push(Problem::Unknown(path));
    }
}

fn kind_missing(body: &str) -> String {
    format!("Object 'Kind' is missing in '{body}'")
}
