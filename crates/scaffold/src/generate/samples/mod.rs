//! `config/samples`: an object of each served version of each kind, made from its schema, that the server takes.
//!
//! A sample is to be read: all fields that can be shown with plain values are tried first, then only those that are
//! needed, then what the generator of random objects finds. Each try is judged as the server would.
//!
//! | module | what it holds |
//! |---|---|
//! | `plain` | plain values for places of a schema |

mod plain;

use kubewright_resource::{
    Judge,
    generate::{Generator, Rng},
};
use serde_json::{Value, json};

use self::plain::Extent;
use super::{
    File, Settings,
    model::{Kind, Model},
    yaml,
};
use crate::Refusal;

/// The samples.
pub(super) fn files(model: &Model, settings: &Settings) -> Result<Vec<File>, Refusal> {
    model
        .kinds()
        .filter(|kind| kind.served())
        .map(|kind| {
            let path = format!("config/samples/{}", settings.sample_name(&kind));
            Ok(File::until_edited(path, &yaml::printed(&sample(&kind))?))
        })
        .collect()
}

/// The first object that the server would take; the first one of all if there is none.
fn sample(kind: &Kind<'_>) -> Value {
    let judge = Judge::new(kind.definition, kind.version());
    let tried = [Extent::All, Extent::Needed].map(|extent| object(kind, extent));
    let taken = |object: &&Value| judge.create(object).is_ok();
    if let Some(found) = tried.iter().find(taken) {
        return found.clone();
    }
    let generator = Generator::new(&judge, &kind.api_version(), kind.kind());
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
