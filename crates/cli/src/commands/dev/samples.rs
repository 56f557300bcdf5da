//! Sample objects: those in `config/samples`, and generated ones for kinds without a sample.

use kube::core::DynamicObject;
use kubewright_operator::Model;
use kubewright_resource::{
    Validator,
    generate::{Generator, Rng},
};
use kubewright_scaffold::{
    Edits, Error, Project,
    generate::{Target, plan},
};
use serde_json::{Value, json};

use crate::cluster::manifest;

/// A sample object.
pub(super) struct Sample {
    pub(super) object: DynamicObject,
    /// The path of its file in the project, if it has one.
    file: Option<String>,
}

impl Sample {
    /// Describes why the cluster did not accept it, and what to do.
    pub(super) fn refused(&self, refusal: &Error) -> String {
        let Some(file) = &self.file else {
            return refusal.to_string();
        };
        let said = refusal.to_string();
        let (problem, _) = said.rsplit_once("; ").unwrap_or((&said, ""));
        format!("{file}: {problem}; correct the file, or the types of its kind")
    }
}

/// Returns the samples of a project, and errors in some of them. Files that nobody has edited follow the schema.
pub(super) fn of(project: &Project, model: &Model) -> (Vec<Sample>, Vec<Error>) {
    let (mut samples, mut wrong) = (Vec::new(), Vec::new());
    // An edited file that is in the way of `generate` is no reason to go without samples.
    let generated = plan(project, model, &[Target::Samples], Edits::Keep).ok();
    let current = |path: &str| {
        let changes = generated.as_ref().map_or(&[][..], |plan| plan.changes());
        changes
            .iter()
            .find(|change| change.path == path)?
            .after
            .clone()
    };
    for file in manifest::files(&project.root().join("config/samples")) {
        let relative = file.strip_prefix(project.root()).unwrap_or(&file);
        let path = relative.display().to_string();
        let read = match current(&path) {
            Some(text) => manifest::parsed(&text, &path),
            None => manifest::read(&file),
        };
        match read {
            Ok(objects) => samples.extend(objects.into_iter().map(|object| Sample {
                object,
                file: Some(path.clone()),
            })),
            Err(refusal) => wrong.push(refusal),
        }
    }
    for definition in model.definitions() {
        let kind = text(definition, "/spec/names/kind");
        let is_one = |sample: &Sample| {
            let types = sample.object.types.as_ref();
            types.is_some_and(|it| it.kind == kind)
        };
        if !samples.iter().any(is_one) {
            match made(definition) {
                Ok(object) => samples.push(Sample { object, file: None }),
                Err(why) => wrong.push(Error::new(
                    format_args!("cannot generate a sample of {kind}: {why}"),
                    "add one to config/samples",
                )),
            }
        }
    }
    (samples, wrong)
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
    use std::fs;

    use kube::ResourceExt;
    use kubewright_scaffold::{AddApi, Dependency, Gvk, NewProject};

    use super::*;

    fn model() -> Model {
        let schema = json!({"type": "object", "required": ["spec"], "properties": {"spec": {
            "type": "object",
            "required": ["ship"],
            "properties": {"ship": {"type": "string", "enum": ["jolly"]}},
        }}});
        let captains = json!({
            "metadata": {"name": "captains.crew.example.com"},
            "spec": {
                "group": "crew.example.com",
                "names": {"kind": "Captain", "plural": "captains"},
                "scope": "Namespaced",
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": schema},
                }],
            },
        });
        Model {
            crds: vec![captains],
            ..Model::new("crew")
        }
    }

    /// Runs a test in a new project.
    fn in_project(name: &str, test: impl FnOnce(&Project)) {
        let root = std::env::temp_dir().join(format!("kubewright-{name}-{}", std::process::id()));
        let new = NewProject {
            name: "crew".into(),
            domain: "example.com".into(),
            namespaced: false,
            kubewright: Dependency::Version("0.1.0".into()),
            package: Default::default(),
        };
        new.plan(&root).unwrap().write().unwrap();
        test(&Project::read(&root).unwrap());
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_kind_without_a_sample_gets_one() {
        in_project("without-sample", |project| {
            let (samples, wrong) = of(project, &model());
            assert_eq!(wrong, []);
            assert_eq!(samples[0].object.name_any(), "captain-sample");
            assert_eq!(samples[0].object.data["spec"]["ship"], "jolly");
        });
    }

    #[test]
    fn a_sample_follows_the_schema_until_it_is_edited() {
        in_project("sample", |project| {
            let add = AddApi {
                gvk: Gvk::parse("crew/v1/Captain").unwrap(),
                plural: None,
                namespaced: true,
                resource: true,
                controller: true,
                force: false,
            };
            add.plan(project).unwrap().write().unwrap();
            let project = Project::read(project.root()).unwrap();
            let path = "config/samples/crew_v1_captain.yaml";
            let file = project.root().join(path);
            let scaffolded = fs::read_to_string(&file).unwrap();

            let (samples, _) = of(&project, &model());
            assert_eq!(samples.len(), 1);
            assert_eq!(samples[0].object.data["spec"]["ship"], "jolly");
            // The file is not touched.
            assert_eq!(fs::read_to_string(&file).unwrap(), scaffolded);

            fs::write(&file, scaffolded + "# mine\n").unwrap();
            let (samples, _) = of(&project, &model());
            assert_eq!(samples[0].object.data["spec"], json!({}));
            let refusal = Error::new("spec.ship: Required value", "fix it");
            let advice = "correct the file, or the types of its kind";
            assert_eq!(
                samples[0].refused(&refusal),
                format!("{path}: spec.ship: Required value; {advice}")
            );
        });
    }
}
