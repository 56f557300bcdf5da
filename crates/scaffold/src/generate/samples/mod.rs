//! Generates `config/samples`: a valid object of each served version of each kind.
//!
//! Samples are for people to read: first all fields with plain values are tried, then only the required ones, then a generated
//! random object. Each candidate is validated as the server would.

mod plain;

use kubewright_operator::Model;
use kubewright_resource::{
    Validator,
    generate::{Generator, Rng},
};
use serde_json::{Value, json};

use self::plain::Extent;
use super::{
    File, Settings,
    model::{Kind, kinds},
    yaml,
};
use crate::Error;

/// Returns the sample files.
pub(super) fn files(model: &Model, settings: &Settings) -> Result<Vec<File>, Error> {
    kinds(model)
        .filter(|kind| kind.served())
        .map(|kind| {
            let path = format!("config/samples/{}", settings.sample_name(&kind));
            Ok(File::until_edited(path, &yaml::printed(&sample(&kind))?))
        })
        .collect()
}

/// Returns the first candidate that the server would accept, or the one with the required fields if there is none.
fn sample(kind: &Kind<'_>) -> Value {
    let validator = Validator::new(kind.crd, kind.version());
    let tried = [Extent::All, Extent::Needed].map(|extent| object(kind, extent));
    let accepted = |object: &&Value| validator.create(object).is_ok();
    if let Some(found) = tried.iter().find(accepted) {
        return found.clone();
    }
    let generator = Generator::new(&validator, &kind.api_version(), kind.kind());
    match generator.minimal(&mut Rng::new(1)) {
        Ok(mut found) => {
            found["metadata"] = metadata(kind);
            if let Some(fields) = found.as_object_mut() {
                fields.remove("status");
            }
            found
        }
        Err(_) => object(kind, Extent::Needed),
    }
}

fn object(kind: &Kind<'_>, extent: Extent) -> Value {
    let mut object = json!({
        "apiVersion": kind.api_version(),
        "kind": kind.kind(),
        "metadata": metadata(kind),
    });
    let schema = kind.schema();
    let properties = schema["properties"].as_object();
    let needed = |name: &str| {
        let required = schema["required"].as_array();
        required.is_some_and(|names| names.iter().any(|it| it == name))
    };
    for (name, inner) in properties.into_iter().flatten() {
        let known = matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status");
        let wanted = name == "spec" || needed(name) || extent == Extent::All;
        if !known
            && wanted
            && let Some(value) = plain::value(name, inner, extent)
        {
            object[name] = value;
        }
    }
    object
}

fn metadata(kind: &Kind<'_>) -> Value {
    json!({"name": format!("{}-sample", kind.kind().to_ascii_lowercase())})
}
