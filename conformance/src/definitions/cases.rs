//! Requests generated from a schema.
//!
//! A minimal valid object is generated. Then, for every construct of the schema, positions are chosen, the object gets
//! a value there, and the value is broken in the way that the construct forbids, or kept to show how the server stores
//! it. Rules are broken by trial, with [`Validator`] as the check. All of these requests are dry runs. A second scenario
//! stores an object and exercises the other verbs, versions and subresources.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::{Context, Result};
use kubewright_resource::{
    Validator,
    generate::{self, Generator, Rng, SchemaPath, Size, mutate},
};
use serde_json::{Value, json};

use super::{
    change::{Change, changes},
    install::served,
};
use crate::{
    scenario::Scenario,
    step::{Body, Step},
};

/// The number of positions that are chosen for each construct of a schema.
const PLACES: usize = 2;

/// The number of positions with rules or alternatives that are chosen, and the number of attempts for each.
const RULES: usize = 8;
const TRIES: usize = 24;

/// The number of randomly changed objects.
const RANDOM: u64 = 6;

/// The maximum size of an object, so that recordings stay readable.
const LARGEST: usize = 4000;

/// The requests for the objects of a CustomResourceDefinition.
pub fn scenarios(definition: &Value) -> Result<Vec<Scenario>> {
    let name = definition["metadata"]["name"].as_str().context("no name")?;
    let stored = served(definition).find(|v| v["storage"] == true);
    let stored = stored.or_else(|| served(definition).last());
    let version = stored.context("nothing is served")?;
    let version_name = version["name"].as_str().context("no name of a version")?;
    let validator = Validator::new(definition, version_name);
    let asker = Asker::new(definition, version, &validator)?;
    Ok(vec![
        Scenario {
            name: format!("{name}: every construct"),
            pending: None,
            hooks: Arc::default(),
            steps: asker.constructs()?,
        },
        Scenario {
            name: format!("{name}: a stored object"),
            pending: None,
            hooks: Arc::default(),
            steps: asker.stored(definition)?,
        },
    ])
}

struct Asker<'a> {
    validator: &'a Validator,
    generator: Generator<'a>,
    /// The group, version and plural.
    names: (String, String, String),
    namespaced: bool,
    subresources: Value,
}

impl<'a> Asker<'a> {
    fn new(definition: &Value, version: &Value, validator: &'a Validator) -> Result<Self> {
        let spec = &definition["spec"];
        let text = |value: &Value| {
            value
                .as_str()
                .map(str::to_owned)
                .context("a name is missing")
        };
        let names = (
            text(&spec["group"])?,
            text(&version["name"])?,
            text(&spec["names"]["plural"])?,
        );
        let kind = text(&spec["names"]["kind"])?;
        Ok(Self {
            generator: Generator::new(validator, &format!("{}/{}", names.0, names.1), &kind),
            validator,
            names,
            namespaced: spec["scope"] == "Namespaced",
            subresources: version["subresources"].clone(),
        })
    }

    fn minimal(&self) -> Result<Value> {
        let mut object = self.generator.minimal(&mut Rng::new(1))?;
        object["metadata"] = json!({"name": "object"});
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        Ok(object)
    }

    fn path(&self, version: &str) -> String {
        let (group, _, plural) = &self.names;
        match self.namespaced {
            true => format!("/apis/{group}/{version}/namespaces/<ns>/{plural}"),
            false => format!("/apis/{group}/{version}/{plural}"),
        }
    }

    /// Returns the dry runs, one for each construct and position.
    fn constructs(&self) -> Result<Vec<Step>> {
        // The name differs from that of the stored object, which may exist at the same time.
        let mut minimal = self.minimal()?;
        minimal["metadata"]["name"] = json!("tried");
        let create = format!("{}?dryRun=All", self.path(&self.names.1));
        let mut steps = vec![step("valid", "POST", &create, &minimal)];
        let places = self.generator.paths();
        let below = |place: &SchemaPath<'_>, part: &[&str]| match place.steps.first() {
            Some(generate::Step::Field(name)) => part.contains(&name.as_str()),
            _ => false,
        };
        let outside = ["apiVersion", "kind", "metadata", "status"];
        let in_spec = |place: &&SchemaPath<'_>| !below(place, &outside);
        let spec: Vec<&SchemaPath<'_>> = places.iter().filter(in_spec).collect();
        let mut by_construct: BTreeMap<String, Vec<(&SchemaPath<'_>, Change)>> = BTreeMap::new();
        for place in &spec {
            for (what, change) in changes(place) {
                by_construct.entry(what).or_default().push((place, change));
            }
        }
        for (what, found) in &by_construct {
            for (place, change) in spread(found, PLACES) {
                let Some(object) = self.changed(&minimal, place, change) else {
                    continue;
                };
                let title = format!("{what}, {place}");
                let strictness: &[&str] = match what.as_str() {
                    "a field too many" => &["Strict", "Warn", "Ignore"],
                    _ => &["Strict"],
                };
                for how in strictness {
                    let path = format!("{create}&fieldValidation={how}");
                    steps.push(step(&title, "POST", &path, &object));
                }
            }
        }
        steps.extend(self.rules(&minimal, &spec, &create));
        for seed in 0..RANDOM {
            let mut rng = Rng::new(seed);
            let mut object = minimal.clone();
            for place in spread(&spec, 1 + rng.below(6)) {
                self.generator.fill(&mut object, place, &mut rng);
            }
            mutate(&mut object, &mut rng);
            steps.push(step(&format!("random {seed}"), "POST", &create, &object));
        }
        steps.extend(self.envelope(&minimal, &create));
        Ok(steps)
    }

    /// Returns the object with a value at a position, changed there.
    fn changed(&self, minimal: &Value, place: &SchemaPath<'_>, change: &Change) -> Option<Value> {
        let mut object = minimal.clone();
        let pointer = self.generator.fill(&mut object, place, &mut Rng::new(2))?;
        let changed = change.apply(object.pointer_mut(&pointer)?);
        (changed && object.is_object() && object.to_string().len() <= LARGEST).then_some(object)
    }

    /// Returns objects that violate rules or match no alternative.
    fn rules(&self, minimal: &Value, places: &[&SchemaPath<'_>], create: &str) -> Vec<Step> {
        let tried = ["x-kubernetes-validations", "anyOf", "oneOf", "allOf", "not"];
        let ruled = |place: &&&SchemaPath<'_>| tried.iter().any(|key| !place.schema[key].is_null());
        let ruled: Vec<&SchemaPath<'_>> = places.iter().filter(ruled).copied().collect();
        let mut steps = Vec::new();
        for place in spread(&ruled, RULES) {
            let mut rng = Rng::new(3);
            let mut messages: Vec<String> = Vec::new();
            for attempt in 0..TRIES {
                let mut object = minimal.clone();
                let pointer = self.generator.fill(&mut object, place, &mut rng);
                let value = self
                    .generator
                    .sample_ignoring_rules(place, size(attempt), &mut rng);
                let (Some(pointer), Some(value)) = (pointer, value) else {
                    break;
                };
                let Some(there) = object.pointer_mut(&pointer) else {
                    break;
                };
                match pointer.is_empty() {
                    // The whole object keeps its names.
                    true => merge(there, value, minimal),
                    false => *there = value,
                }
                if object.to_string().len() > LARGEST {
                    continue;
                }
                let Err(status) = self.validator.create(&object) else {
                    continue;
                };
                if !messages.contains(&status.message) && messages.len() < 3 {
                    messages.push(status.message);
                    steps.push(step(&format!("a rule, {place}"), "POST", create, &object));
                }
            }
        }
        steps
    }

    /// Returns requests about everything around spec: kind, version, metadata, duplicates, other encodings.
    fn envelope(&self, minimal: &Value, create: &str) -> Vec<Step> {
        let with = |pointer: &str, value: Value| {
            let mut object = minimal.clone();
            if let Some(there) = object.pointer_mut(pointer) {
                *there = value;
            }
            object
        };
        let mut steps = vec![
            step("no name", "POST", create, &with("/metadata", json!({}))),
            step(
                "a bad name",
                "POST",
                create,
                &with("/metadata/name", json!("A b")),
            ),
            step(
                "a made name",
                "POST",
                create,
                &with("/metadata", json!({"generateName": "made-"})),
            ),
            step(
                "another kind",
                "POST",
                create,
                &with("/kind", json!("Other")),
            ),
            step(
                "another version",
                "POST",
                create,
                &with("/apiVersion", json!("other/v1")),
            ),
            step(
                "odd metadata",
                "POST",
                create,
                &with(
                    "/metadata",
                    json!({"name": "a", "labels": {"a b": "c"}, "annotations": {"x": 1}}),
                ),
            ),
            step(
                "odd owners",
                "POST",
                create,
                &with(
                    "/metadata",
                    json!({"name": "a", "ownerReferences": [{"kind": "X"}], "finalizers": ["x"]}),
                ),
            ),
        ];
        let text = minimal.to_string();
        let twice = format!("{},\"kind\":\"X\"}}", text.trim_end_matches('}'));
        let twice = format!(
            "{}{}",
            twice,
            "}".repeat(text.len() - text.trim_end_matches('}').len() - 1)
        );
        let mut broken = step("broken JSON", "POST", create, minimal);
        broken.body = Some(Body::Text(twice));
        steps.push(broken);
        let mut double = step(
            "a key twice",
            "POST",
            &format!("{create}&fieldValidation=Strict"),
            minimal,
        );
        double.body = Some(Body::Text(text.replacen('{', "{\"kind\":\"X\",", 1)));
        steps.push(double);
        steps
    }

    /// Returns requests that store an object and exercise all verbs on it.
    fn stored(&self, definition: &Value) -> Result<Vec<Step>> {
        let mut object = self.minimal()?;
        let collection = self.path(&self.names.1);
        let own = format!("{collection}/object");
        let mut steps = vec![slow("create", "POST", &collection, &object)];
        for version in served(definition) {
            let version = version["name"].as_str().unwrap_or_default();
            let path = self.path(version);
            steps.push(get(
                &format!("{version} reads"),
                &format!("{path}/object"),
                "application/json",
            ));
            let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
            steps.push(get(
                &format!("{version} as a table"),
                &format!("{path}/object"),
                table,
            ));
        }
        steps.push(slow("no version", "PUT", &own, &object));
        let labels = json!({"metadata": {"labels": {"a": "b"}}});
        steps.push(slow("labels", "MERGE", &own, &labels));
        steps.push(slow("strategic", "STRATEGIC", &own, &labels));
        steps.extend(self.transitions(&object, &own));
        let apply = format!("{own}?fieldManager=applier");
        steps.push(slow("apply", "APPLY", &apply, &object));
        object["metadata"]["labels"] = json!({"applied": "yes"});
        steps.push(slow("apply a label", "APPLY", &apply, &object));
        object["unknownField"] = json!(1);
        steps.push(quick(
            "apply a field too many",
            "APPLY",
            &format!("{apply}&dryRun=All"),
            &object,
        ));
        steps.extend(self.status(&own)?);
        if !self.subresources["scale"].is_null() {
            steps.push(get("scale", &format!("{own}/scale"), "application/json"));
            let scale = json!({"spec": {"replicas": 4}});
            steps.push(slow("scaled", "MERGE", &format!("{own}/scale"), &scale));
            let scale = json!({"spec": {"replicas": -1}});
            steps.push(slow(
                "scaled below zero",
                "MERGE",
                &format!("{own}/scale"),
                &scale,
            ));
        }
        let mut gone = slow("delete", "DELETE", &own, &Value::Null);
        gone.body = None;
        steps.push(gone);
        Ok(steps)
    }

    /// Returns changes of a stored object that transition rules may reject.
    fn transitions(&self, object: &Value, own: &str) -> Vec<Step> {
        let places = self.generator.paths();
        let looks_back = |place: &&SchemaPath<'_>| {
            let rules = place.schema["x-kubernetes-validations"].as_array();
            let mut rules = rules.into_iter().flatten();
            rules.any(|r| r["rule"].as_str().is_some_and(|r| r.contains("oldSelf")))
        };
        let found: Vec<&SchemaPath<'_>> = places.iter().filter(looks_back).collect();
        let mut steps = Vec::new();
        for place in spread(&found, 4) {
            let mut rng = Rng::new(5);
            let mut before = object.clone();
            let Some(pointer) = self.generator.fill(&mut before, place, &mut rng) else {
                continue;
            };
            if self.validator.create(&before).is_err() {
                continue;
            }
            let title = format!("a rule about changes, {place}");
            steps.push(slow(
                &title,
                "APPLY",
                &format!("{own}?fieldManager=changes&force=true"),
                &before,
            ));
            for attempt in 0..TRIES {
                let Some(value) =
                    self.generator
                        .sample_ignoring_rules(place, size(attempt), &mut rng)
                else {
                    break;
                };
                let mut after = before.clone();
                if let Some(there) = after.pointer_mut(&pointer) {
                    *there = value.clone();
                }
                let refused = self.validator.update(&after, &before).is_err();
                if refused && !pointer.is_empty() && value.to_string().len() < LARGEST {
                    let patch = json!([{"op": "replace", "path": pointer, "value": value}]);
                    steps.push(quick(&title, "JSON", &format!("{own}?dryRun=All"), &patch));
                    break;
                }
            }
            if let Some(key) = pointer.strip_prefix('/')
                && !key.is_empty()
            {
                let patch = json!([{"op": "remove", "path": pointer}]);
                steps.push(quick(&title, "JSON", &format!("{own}?dryRun=All"), &patch));
            }
        }
        steps
    }

    fn status(&self, own: &str) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        if self.subresources["status"].is_null() {
            return Ok(steps);
        }
        let path = format!("{own}/status");
        let places = self.generator.paths();
        let of_status = |place: &&SchemaPath<'_>| matches!(place.steps.first(), Some(generate::Step::Field(name)) if name == "status");
        let of_status: Vec<&SchemaPath<'_>> = places.iter().filter(of_status).collect();
        let mut rng = Rng::new(6);
        for place in spread(&of_status, 3) {
            let mut object = json!({});
            self.generator.fill(&mut object, place, &mut rng);
            steps.push(slow(
                &format!("status with {place}"),
                "MERGE",
                &path,
                &object,
            ));
        }
        for place in spread(&of_status, 8) {
            for (what, change) in spread(&changes(place), 2) {
                let Some(object) = self.changed(&json!({}), place, change) else {
                    continue;
                };
                let title = format!("{what}, {place}");
                steps.push(quick(
                    &title,
                    "MERGE",
                    &format!("{path}?dryRun=All"),
                    &object,
                ));
            }
        }
        let apply = json!({"apiVersion": format!("{}/{}", self.names.0, self.names.1), "kind": self.minimal()?["kind"],
            "metadata": {"name": "object"}, "status": {}});
        steps.push(slow(
            "apply a status",
            "APPLY",
            &format!("{path}?fieldManager=status"),
            &apply,
        ));
        Ok(steps)
    }
}

/// Alternates between small and large values.
fn size(attempt: usize) -> Size {
    match attempt % 2 {
        0 => Size::Minimal,
        _ => Size::Any,
    }
}

/// Copies the fields of another object, except for its identity.
fn merge(object: &mut Value, other: Value, names: &Value) {
    *object = other;
    for key in ["apiVersion", "kind", "metadata"] {
        object[key] = names[key].clone();
    }
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
}

/// Picks some of many, including the first and the last.
fn spread<T>(all: &[T], some: usize) -> impl Iterator<Item = &T> {
    let count = all.len().min(some);
    let at = move |i: usize| match count {
        0 | 1 => 0,
        _ => i * (all.len() - 1) / (count - 1),
    };
    (0..count).filter_map(move |i| all.get(at(i)))
}

/// Returns a dry run, which stores nothing.
fn step(title: &str, word: &str, path: &str, body: &Value) -> Step {
    quick(title, word, path, body)
}

fn quick(title: &str, word: &str, path: &str, body: &Value) -> Step {
    let mut step = slow(title, word, path, body);
    (step.look, step.quick) = (false, true);
    step
}

fn slow(title: &str, word: &str, path: &str, body: &Value) -> Step {
    Step::new(title, word, path, Some(Body::Json(body.clone())))
}

fn get(title: &str, path: &str, accept: &str) -> Step {
    let mut step = Step::new(title, "GET", path, None);
    step.headers.insert("accept".to_owned(), accept.to_owned());
    step
}
