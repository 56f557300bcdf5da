//! Runtime classes.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::{self, NameForm, names},
};
use serde_json::{Value, json};

use crate::{
    KindRules, checks,
    core::{pod::scheduling, resources},
    json::{Read, Write},
    meta,
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    validate_create,
    validate_update,
    allow_create_on_update: true,
    allow_unconditional_update: false,
    ..KindRules::GENERAL
};

fn default(class: &mut Value) {
    class.with("overhead", |o| o.with("podFixed", resources::round_up));
}

fn validate_create(class: &Value) -> ErrorList {
    let mut errors = meta::validate_general(class, false, meta::subdomain);
    let path = Path::new("handler");
    match class["handler"].text() {
        "" => errors.push(field::required(&path, "")),
        name => checks::messages(
            name,
            names::name_is_dns_label(name, NameForm::Whole),
            &path,
            &mut errors,
        ),
    }
    if class["overhead"].is_set() {
        let requirements = json!({"limits": class["overhead"]["podFixed"]});
        let path = Path::new("overhead");
        resources::validate_requirements(
            &requirements,
            resources::Names::Container,
            &[],
            &path,
            &mut errors,
        );
    }
    let (nodes, path) = (&class["scheduling"], Path::new("scheduling"));
    let selector_path = path.child("nodeSelector");
    errors.extend(validation::validate_labels(
        &nodes["nodeSelector"],
        &selector_path,
    ));
    scheduling::validate_tolerations(
        &nodes["tolerations"],
        &path.child("tolerations"),
        &mut errors,
    );
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, false);
    errors.extend(validate_create(new));
    errors.extend(meta::validate_general_update(new, old));
    checks::immutable(
        &new["handler"],
        &old["handler"],
        &Path::new("handler"),
        &mut errors,
    );
    errors
}
