//! Sample objects: those in `config/samples`, and generated ones for kinds without a sample.

use std::path::Path;

use kube::core::DynamicObject;
use kubewright_resource::{
    Validator,
    generate::{Generator, Rng},
};
use kubewright_scaffold::Error;
use serde_json::{Value, json};

use crate::cluster::manifest;

/// Returns the samples of a project, and errors in some of them.
pub(super) fn of(root: &Path, definitions: &[Value]) -> (Vec<DynamicObject>, Vec<Error>) {
    let (mut objects, mut wrong) = (Vec::new(), Vec::new());
    for file in manifest::files(&root.join("config/samples")) {
        match manifest::read(&file) {
            Ok(more) => objects.extend(more),
            Err(refusal) => wrong.push(refusal),
        }
    }
    for definition in definitions {
        let kind = text(definition, "/spec/names/kind");
        let has = objects
            .iter()
            .any(|object| object.types.as_ref().is_some_and(|it| it.kind == kind));
        if !has {
            match made(definition) {
                Ok(object) => objects.push(object),
                Err(why) => wrong.push(Error::new(
                    format_args!("cannot generate a sample of {kind}: {why}"),
                    "add one to config/samples",
                )),
            }
        }
    }
    (objects, wrong)
}

/// Generates a small object that the schema allows.
fn made(definition: &Value) -> Result<DynamicObject, String> {
    let versions = definition
        .pointer("/spec/versions")
        .and_then(Value::as_array);
    let mut versions = versions.into_iter().flatten();
    let version = versions.find(|version| version["storage"] == true);
    let version = text(version.ok_or("no storage version")?, "/name");
    let kind = text(definition, "/spec/names/kind");
    let validator = Validator::new(definition, version);
    let api_version = format!("{}/{version}", text(definition, "/spec/group"));
    // The seed is fixed, so the object is always the same.
    let mut object = Generator::new(&validator, &api_version, kind)
        .minimal(&mut Rng::new(1))
        .map_err(|e| e.to_string())?;
    object["metadata"] = json!({"name": format!("{}-sample", kind.to_lowercase())});
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    serde_json::from_value(object).map_err(|e| e.to_string())
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    let text = value.pointer(path).and_then(Value::as_str);
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use kube::ResourceExt;

    use super::*;

    #[test]
    fn a_kind_without_a_sample_gets_one_that_its_schema_allows() {
        let definition = json!({
            "metadata": {"name": "captains.crew.example.com"},
            "spec": {"group": "crew.example.com", "scope": "Namespaced",
                "names": {"kind": "Captain", "plural": "captains"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"],
                        "properties": {"spec": {"type": "object", "required": ["ship"],
                            "properties": {"ship": {"type": "string", "enum": ["jolly"]}}}}}}}]},
        });
        let (objects, wrong) = of(Path::new("no/such/project"), &[definition]);
        assert!(wrong.is_empty(), "{wrong:?}");
        assert_eq!(objects[0].name_any(), "captain-sample");
        assert_eq!(objects[0].data["spec"]["ship"], "jolly");
    }
}
