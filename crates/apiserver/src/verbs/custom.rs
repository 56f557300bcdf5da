//! Decodes bodies and patched objects of custom resources. They are plain JSON whose fields are checked by the schema; the kind
//! is validated later, with the object.

use kubewright_machinery::{
    Status,
    gvk::{GroupVersion, GroupVersionKind},
    limits::{DOCUMENT_DEPTH, depth_of},
    status,
};
use kubewright_protobuf::DeclaredType;
use kubewright_schema::{
    Node, Problem, Problems, TYPE_META_CONTEXT, decode_untyped, read_type_meta, retype_numbers,
};
use serde_json::Value;

use super::decode::{check_problems, undecoded, unhandled, unrecognized};
use crate::{
    registry::{Custom, UnknownFields},
    request::{RequestContext, options::FieldValidation},
};

/// The body of a write.
pub(super) struct Document<'a> {
    /// The kind that the endpoint accepts.
    pub(super) kind: &'a GroupVersionKind,
    /// The schema of the kind.
    pub(super) custom: &'a dyn Custom,
    /// The body as it was sent.
    pub(super) body: &'a [u8],
    /// The treatment of unknown fields.
    pub(super) validation: FieldValidation,
}

impl Document<'_> {
    /// Decodes the body. It may have another kind, but not another version.
    pub(super) fn decode(
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
        let (object, mut problems) =
            decode_untyped(node).map_err(|e| unhandled(&given, kind, &e.to_string()))?;
        if let Some(problem) = first {
            problems.push_first(problem);
        }
        self.finish(cx, &given, object, problems)
    }

    /// Decodes a body in protobuf, which must be an object of the kind. Fields of unknown numbers are skipped.
    pub(super) fn decode_protobuf(
        &self,
        cx: &RequestContext,
        ty: &DeclaredType,
    ) -> Result<Value, Status> {
        let (kind, body) = (self.kind, self.body);
        let mut object = ty
            .decode(body)
            .map_err(|e| undecoded(kind, &e, body))?
            .value;
        if depth_of(&object) > DOCUMENT_DEPTH {
            return Err(unhandled(kind, kind, "exceeded max depth"));
        }
        retype_numbers(&mut object);
        self.finish(cx, kind, object, Problems::default())
    }

    /// Removes unknown fields, and reports problems.
    fn finish(
        &self,
        cx: &RequestContext,
        given: &GroupVersionKind,
        mut object: Value,
        mut problems: Problems,
    ) -> Result<Value, Status> {
        let kind = self.kind;
        let reject = |text: &str| unhandled(given, kind, text);
        let report = match self.validation {
            FieldValidation::Ignore => UnknownFields::Ignore,
            FieldValidation::Warn | FieldValidation::Strict => UnknownFields::Report,
        };
        let unknown = self.custom.prune(&mut object, report);
        add_unknown(&mut problems, unknown.map_err(|e| reject(&e))?);
        check_problems(cx, kind, &problems, self.validation)?;
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

/// Decodes a patched object. The error is the message for the client.
pub(super) fn decode_patched(
    custom: &dyn Custom,
    object: &mut Value,
    problems: &mut Problems,
) -> Result<(), String> {
    if object["kind"].as_str().unwrap_or_default().is_empty() {
        return Err(kind_missing(&object.to_string()));
    }
    retype_numbers(object);
    add_unknown(problems, custom.prune(object, UnknownFields::Report)?);
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
