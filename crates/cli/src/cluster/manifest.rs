//! Reads objects from YAML and JSON files.

use std::{fs, path::Path};

use kube::core::DynamicObject;
use kubewright_scaffold::{Error, parse_manifests};

use crate::cluster::one_line;

/// Reads the objects of a file in order. A list counts as its items.
pub(crate) fn read(path: &Path) -> Result<Vec<DynamicObject>, Error> {
    let text = fs::read_to_string(path).map_err(|e| Error::io("read", path, &e))?;
    parsed(&text, &path.display().to_string())
}

/// Parses the objects of a text. `name` names the text in errors.
pub(crate) fn parsed(text: &str, name: &str) -> Result<Vec<DynamicObject>, Error> {
    parse(text)
        .map_err(|wrong| Error::new(format_args!("{name} is not a manifest: {wrong}"), "fix it"))
}

/// Returns the manifests of a directory, sorted, without the files of kustomize. A missing directory has none.
pub(crate) fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| {
        let extension = path.extension().and_then(|e| e.to_str());
        let stem = path.file_stem().and_then(|s| s.to_str());
        matches!(extension, Some("yaml" | "yml" | "json")) && stem != Some("kustomization")
    });
    files.sort();
    files
}

fn parse(text: &str) -> Result<Vec<DynamicObject>, String> {
    let mut objects = Vec::new();
    for value in parse_manifests(text).map_err(|e| one_line(&e))? {
        let object: DynamicObject = serde_json::from_value(value).map_err(|e| one_line(&e))?;
        if object.types.is_none() || object.metadata.name.is_none() {
            return Err("an object needs apiVersion, kind and metadata.name".to_owned());
        }
        objects.push(object);
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use kube::ResourceExt;

    use super::*;

    #[test]
    fn documents_and_lists_become_objects() {
        let text = "# first\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: |\n    x\n    --- y\n--- # more\n---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: b}\n";
        let objects = parse(text).unwrap();
        let names: Vec<String> = objects.iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(objects[0].data["data"]["k"], "x\n--- y\n");
    }

    #[test]
    fn documents_that_are_not_objects_are_rejected() {
        assert!(parse("kind: ConfigMap\n").is_err());
        assert!(parse("apiVersion: v1\nkind: ConfigMap\n").is_err());
        assert!(parse("a: [\n").is_err());
        assert!(parse("\n---\n").unwrap().is_empty());
    }
}
