//! The places of a schema: where a value can stand, and objects that have one there.

use serde_json::Value;

use super::{
    rng::Rng,
    sampler::{Effort, Sampler},
};

/// A step on the way to a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into a field.
    Field(String),
    /// Into the items of a list.
    Item,
    /// Into the values of a map.
    Entry,
}

/// A place of a schema.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// The way from the whole object.
    pub steps: Vec<Step>,
    /// What the schema says there.
    pub schema: &'a Value,
}

/// The key under which a value is put into a map that has none.
const KEY: &str = "key";

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, step) in self.steps.iter().enumerate() {
            match step {
                Step::Field(name) if i == 0 => write!(f, "{name}")?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Item => write!(f, "[]")?,
                Step::Entry => write!(f, "{{}}")?,
            }
        }
        Ok(())
    }
}

/// All places below a sampler, the way to it first.
pub(super) fn collect<'a>(sampler: &'a Sampler, steps: &mut Vec<Step>, out: &mut Vec<Place<'a>>) {
    out.push(Place {
        steps: steps.clone(),
        schema: &sampler.schema,
    });
    let fields = sampler
        .properties
        .iter()
        .map(|(name, inner, _)| (Step::Field(name.clone()), inner));
    let items = sampler.items.iter().map(|inner| (Step::Item, &**inner));
    let entries = sampler
        .additional
        .iter()
        .map(|inner| (Step::Entry, &**inner));
    for (step, inner) in fields.chain(items).chain(entries) {
        steps.push(step);
        collect(inner, steps, out);
        steps.pop();
    }
}

/// Makes sure that an object has a value at a place, and says where, as a JSON pointer.
pub(super) fn fill(
    sampler: &Sampler,
    object: &mut Value,
    steps: &[Step],
    rng: &mut Rng,
) -> Option<String> {
    let (mut sampler, mut value, mut pointer) = (sampler, object, String::new());
    for step in steps {
        let (inner, key) = match step {
            Step::Field(name) => {
                let found = sampler.properties.iter().find(|(n, ..)| n == name)?;
                (&found.1, name.as_str())
            }
            Step::Item => (&**sampler.items.as_ref()?, "0"),
            Step::Entry => (&**sampler.additional.as_ref()?, KEY),
        };
        if *step == Step::Item {
            if value.as_array().is_none_or(Vec::is_empty) {
                *value = Value::Array(vec![inner.sample(rng, Effort::Least)]);
            }
            value = value.get_mut(0)?;
        } else {
            if !value.is_object() {
                *value = sampler.sample(rng, Effort::Least);
            }
            let fields = value.as_object_mut()?;
            value = fields
                .entry(key)
                .or_insert_with(|| inner.sample(rng, Effort::Least));
        }
        pointer.push('/');
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
        sampler = inner;
    }
    Some(pointer)
}

/// A value of a place that fits the types and bounds there, but not the rules, unless by chance.
pub(super) fn unruly(
    sampler: &Sampler,
    steps: &[Step],
    rng: &mut Rng,
    effort: Effort,
) -> Option<Value> {
    let mut sampler = sampler;
    for step in steps {
        sampler = match step {
            Step::Field(name) => &sampler.properties.iter().find(|(n, ..)| n == name)?.1,
            Step::Item => sampler.items.as_ref()?,
            Step::Entry => sampler.additional.as_ref()?,
        };
    }
    Some(sampler.once(rng, effort))
}
