//! Generates values for one path of a schema.
//!
//! Values with rules or alternatives are retried on their own, so that the tries of different fields do not multiply.

use std::collections::HashSet;

use kubewright_cel::{Extent, Ratcheting, Validator, limits::RUNTIME_COST_BUDGET};
use kubewright_machinery::field::Path;
use kubewright_schema::structural::{Structural, compile_rules, validate, validate_list_types};
use serde_json::{Map, Value, json};

use super::{rng::Rng, text};

/// The maximum number of values tried for one path.
const MAX_TRIES: usize = 60;

/// The depth below which only required fields are generated.
const SHALLOW: usize = 8;

/// The depth below which nothing is generated.
const MAX_DEPTH: usize = 100;

/// The maximum number of items or characters that a schema can ask for. Schemas that need more have no generated objects.
const MAX_COUNT: i64 = 10_000;

/// The size of generated values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Required fields and the minimum number of items only.
    Minimal,
    /// Any fields and numbers of items that are allowed.
    Any,
}

/// Generates values for one path.
pub(super) struct Sampler {
    pub(super) schema: Value,
    depth: usize,
    /// The rules and alternatives that values are tried against.
    trial: Option<Trial>,
    pub(super) properties: Vec<(String, Sampler, bool)>,
    pub(super) additional: Option<Box<Sampler>>,
    pub(super) items: Option<Box<Sampler>>,
}

struct Trial {
    schema: Structural,
    rules: Option<Validator>,
}

impl Sampler {
    pub(super) fn new(schema: &Value, depth: usize) -> Self {
        let deeper = |schema: &Value| Self::new(schema, depth + 1);
        let inner = |key: &str| {
            let schema = schema
                .get(key)
                .filter(|s| s.is_object() && depth < MAX_DEPTH);
            schema.map(|schema| Box::new(deeper(schema)))
        };
        let required = schema["required"].as_array();
        let is_required = |name: &str| required.is_some_and(|r| r.iter().any(|n| n == name));
        let properties = schema["properties"]
            .as_object()
            .filter(|_| depth < MAX_DEPTH);
        let properties = properties.into_iter().flatten().map(|(name, schema)| {
            let sampler = deeper(schema);
            (name.clone(), sampler, is_required(name))
        });
        // The whole object is validated by the caller.
        let tried = [
            "x-kubernetes-validations",
            "allOf",
            "anyOf",
            "oneOf",
            "not",
            "pattern",
            "format",
        ];
        let tried = depth > 0 && tried.iter().any(|key| schema.get(key).is_some());
        let compiled = tried.then(|| Structural::compile(schema).ok()).flatten();
        Self {
            depth,
            properties: properties.collect(),
            additional: inner("additionalProperties"),
            items: inner("items"),
            trial: compiled.map(|schema| Trial {
                rules: compile_rules(&schema, Extent::Value),
                schema,
            }),
            schema: schema.clone(),
        }
    }

    pub(super) fn sample(&self, rng: &mut Rng, size: Size) -> Value {
        let mut value = self.once(rng, size);
        if let Some(trial) = &self.trial {
            for _ in 0..MAX_TRIES {
                if trial.accepts(&value) {
                    break;
                }
                value = self.once(rng, size);
            }
        }
        value
    }

    /// Generates a value without trying it against rules and alternatives.
    pub(super) fn once(&self, rng: &mut Rng, size: Size) -> Value {
        let schema = &self.schema;
        if let Some(values) = schema["enum"].as_array() {
            return rng.pick(values).cloned().unwrap_or_default();
        }
        if schema["nullable"] == true && size == Size::Any && rng.one_in(6) {
            return Value::Null;
        }
        if schema["x-kubernetes-int-or-string"] == true {
            return match schema.get("pattern").is_some() || rng.one_in(2) {
                true => json!(self.text(rng)),
                false => json!(rng.between(0, 1000)),
            };
        }
        if schema["x-kubernetes-embedded-resource"] == true {
            let name = format!("embedded-{}", rng.below(100));
            let mut object = self.object(rng, size);
            object.insert("apiVersion".into(), json!("v1"));
            object.insert("kind".into(), json!("ConfigMap"));
            object.insert("metadata".into(), json!({"name": name}));
            return Value::Object(object);
        }
        match schema["type"].as_str() {
            Some("object") => Value::Object(self.object(rng, size)),
            Some("array") => Value::Array(self.list(rng, size)),
            Some("string") => json!(self.text(rng)),
            Some("integer") => json!(self.integer(rng)),
            Some("number") => self.number(rng),
            Some("boolean") => json!(rng.one_in(2)),
            _ => json!({}),
        }
    }

    fn object(&self, rng: &mut Rng, size: Size) -> Map<String, Value> {
        let mut out = Map::new();
        let sparse = size == Size::Minimal || self.depth > SHALLOW;
        for (name, sampler, required) in &self.properties {
            if *required || (!sparse && rng.one_in(2)) {
                out.insert(name.clone(), sampler.sample(rng, size));
            }
        }
        let least = self.count("minProperties").unwrap_or(0);
        let most = self
            .count("maxProperties")
            .unwrap_or(least.saturating_add(3));
        if let Some(sampler) = &self.additional {
            let wanted = if sparse {
                least
            } else {
                rng.between(least, most.min(least.saturating_add(3)))
            };
            for _ in 0..wanted.saturating_mul(4) {
                if i64::try_from(out.len()).unwrap_or(i64::MAX) >= wanted {
                    break;
                }
                let key = text::of_length(1, 12, rng);
                out.insert(key, sampler.sample(rng, size));
            }
        }
        for (name, sampler, _) in &self.properties {
            if i64::try_from(out.len()).unwrap_or(i64::MAX) >= least {
                break;
            }
            if !out.contains_key(name) {
                out.insert(name.clone(), sampler.sample(rng, size));
            }
        }
        out
    }

    fn list(&self, rng: &mut Rng, size: Size) -> Vec<Value> {
        let least = self.count("minItems").unwrap_or(0);
        let most = self.count("maxItems").unwrap_or(least.saturating_add(3));
        let sparse = size == Size::Minimal || self.depth > SHALLOW;
        let wanted = if sparse {
            least
        } else {
            rng.between(least, most.min(least.saturating_add(3)))
        };
        let Some(sampler) = &self.items else {
            return Vec::new();
        };
        let keys = self.schema["x-kubernetes-list-map-keys"].as_array();
        let unique = self.schema["x-kubernetes-list-type"] == "set" || keys.is_some();
        let identity = |item: &Value| match keys {
            Some(keys) => keys
                .iter()
                .filter_map(Value::as_str)
                .map(|key| item[key].to_string())
                .collect(),
            None => item.to_string(),
        };
        let mut out = Vec::new();
        let mut seen: HashSet<String> = HashSet::new();
        for _ in 0..wanted.saturating_mul(8) {
            if i64::try_from(out.len()).unwrap_or(i64::MAX) >= wanted {
                break;
            }
            let item = sampler.sample(rng, size);
            if !unique || seen.insert(identity(&item)) {
                out.push(item);
            }
        }
        out
    }

    fn text(&self, rng: &mut Rng) -> String {
        let word = |key: &str| self.schema[key].as_str();
        if let Some(text) = word("pattern").and_then(|pattern| text::of_pattern(pattern, rng)) {
            return text;
        }
        if let Some(text) = word("format").and_then(|format| text::of_format(format, rng)) {
            return text;
        }
        let least = self.count("minLength").unwrap_or(0);
        text::of_length(least, self.count("maxLength").unwrap_or(i64::MAX), rng)
    }

    fn integer(&self, rng: &mut Rng) -> i64 {
        let (low, high) = self.bounds();
        let (low, high) = (low.ceil() as i64, high.floor() as i64);
        let step = self.schema["multipleOf"]
            .as_f64()
            .map_or(1, |n| (n as i64).max(1));
        let n = match rng.below(4) {
            0 => low,
            1 => high,
            2 => rng.between(low.max(-100).min(high), high.min(100).max(low)),
            _ => rng.between(low, high),
        };
        let down = n - n.rem_euclid(step);
        if down >= low {
            down
        } else {
            down.saturating_add(step)
        }
    }

    fn number(&self, rng: &mut Rng) -> Value {
        let (low, high) = self.bounds();
        let (low, high) = (low.max(-1e6).min(high), high.min(1e6).max(low));
        let step = self.schema["multipleOf"]
            .as_f64()
            .filter(|step| *step > 0.0);
        let part = (rng.number() % 1000) as f64 / 1000.0;
        let n = low + (high - low) * part;
        json!(step.map_or(n, |step| (n / step).floor() * step))
    }

    /// Returns the smallest and the largest number, exclusive bounds moved inwards.
    fn bounds(&self) -> (f64, f64) {
        let schema = &self.schema;
        let whole = schema["type"] == "integer";
        let (mut low, mut high) = match schema["format"].as_str() {
            Some("int32") => (f64::from(i32::MIN), f64::from(i32::MAX)),
            // Integers that a float represents exactly, as JSON numbers do.
            _ => (-9e15, 9e15),
        };
        let past = |exclusive: &Value| match (exclusive == true, whole) {
            (false, _) => 0.0,
            (true, true) => 1.0,
            (true, false) => 1e-6,
        };
        if let Some(minimum) = schema["minimum"].as_f64() {
            low = low.max(minimum + past(&schema["exclusiveMinimum"]));
        }
        if let Some(maximum) = schema["maximum"].as_f64() {
            high = high.min(maximum - past(&schema["exclusiveMaximum"]));
        }
        (low, high.max(low))
    }

    /// Returns a count of the schema, at most [`MAX_COUNT`].
    fn count(&self, key: &str) -> Option<i64> {
        let count = &self.schema[key];
        let count = count.as_i64().or_else(|| count.as_f64().map(|n| n as i64));
        count.map(|count| count.min(MAX_COUNT))
    }
}

impl Trial {
    fn accepts(&self, value: &Value) -> bool {
        let root = Path::root();
        let rules = self.rules.as_ref();
        validate(value, &self.schema, &root).is_empty()
            && validate_list_types(value, &self.schema, &root).is_empty()
            && rules.is_none_or(|rules| {
                let outcome =
                    rules.validate(value, None, RUNTIME_COST_BUDGET, Ratcheting::Disabled);
                outcome.errors.is_empty()
            })
    }
}
