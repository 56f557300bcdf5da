//! Descriptions of the built-in types for OpenAPI documents.
//!
//! The tables of `kubewright-catalog` have no descriptions; they are compressed beside them ([`DESCRIPTIONS`]), written by the
//! same run of the generator. They are decompressed once, for the first document, and looked up without copying.

use std::{collections::HashMap, io::Read, sync::LazyLock};

use flate2::read::GzDecoder;
use kubewright_apiserver::Descriptions;
use kubewright_catalog::generated::DESCRIPTIONS;

/// Ends a part of a record.
const UNIT: char = '\u{1f}';
/// Ends a record.
const RECORD: char = '\u{1e}';

/// The descriptions of the built-in types.
pub(crate) struct BuiltInDescriptions;

impl Descriptions for BuiltInDescriptions {
    fn describe(&self, ty: &str, field: &str) -> Option<&str> {
        INDEX.get(ty)?.get(field).copied()
    }
}

type Index = HashMap<&'static str, HashMap<&'static str, &'static str>>;

static TEXT: LazyLock<String> = LazyLock::new(|| {
    let mut text = String::new();
    match GzDecoder::new(DESCRIPTIONS).read_to_string(&mut text) {
        Ok(_) => text,
        // The embedded data is complete; the tests read all of it.
        Err(_) => String::new(),
    }
});

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index::new();
    for record in TEXT.split_terminator(RECORD) {
        let mut parts = record.splitn(3, UNIT);
        if let (Some(ty), Some(field), Some(text)) = (parts.next(), parts.next(), parts.next()) {
            index.entry(ty).or_default().insert(field, text);
        }
    }
    index
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_fields_are_described() {
        let describe = |ty, field| BuiltInDescriptions.describe(ty, field);
        let pod = "io.k8s.api.core.v1.Pod";
        assert!(describe(pod, "").unwrap().starts_with("Pod is "));
        assert!(describe(pod, "spec").unwrap().contains("pod"));
        assert_eq!(describe(pod, "nonesuch"), None);
        assert_eq!(describe("io.k8s.Nonesuch", ""), None);
    }

    #[test]
    fn every_resource_is_described_as_a_whole() {
        for group in kubewright_catalog::groups() {
            for resource in group.versions.iter().flat_map(|v| v.resources) {
                let name = resource.ty.openapi;
                assert!(BuiltInDescriptions.describe(name, "").is_some(), "{name}");
            }
        }
    }

    #[test]
    fn only_known_fields_are_described() {
        let known = kubewright_catalog::generated::TYPES;
        for ty in known {
            for field in INDEX.get(ty.openapi).into_iter().flat_map(HashMap::keys) {
                assert!(
                    field.is_empty() || ty.field(field).is_some(),
                    "{} {field}",
                    ty.openapi
                );
            }
        }
        assert!(INDEX.len() >= known.len() / 2);
    }
}
