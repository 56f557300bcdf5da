//! [`SchemaPath`]: the paths of a schema, and values at them.

use serde_json::Value;

use super::{
    rng::Rng,
    sampler::{Sampler, Size},
};

/// A step of a [`SchemaPath`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A field of an object.
    Field(String),
    /// The items of a list.
    Item,
    /// The values of a map.
    Entry,
}

/// A path of a schema, with the schema there.
///
/// ```
/// use kubewright_resource::{Validator, generate::{Generator, Step}};
/// use serde_json::json;
///
/// let crd = json!({"spec": {
///     "group": "crew.example.com", "scope": "Namespaced", "names": {"kind": "Captain", "plural": "captains"},
///     "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
///         "type": "object",
///         "properties": {"spec": {"type": "object", "properties": {
///             "ships": {"type": "array", "items": {"type": "string"}},
///         }}},
///     }}}],
/// }});
/// let validator = Validator::new(&crd, "v1");
/// let generator = Generator::new(&validator, "crew.example.com/v1", "Captain");
/// let paths = generator.paths();
/// let ship = paths.iter().find(|path| path.to_string() == "spec.ships[]").expect("it is in the schema");
/// assert_eq!(ship.steps.last(), Some(&Step::Item));
/// assert_eq!(ship.schema["type"], "string");
/// ```
#[derive(Clone, Debug)]
pub struct SchemaPath<'a> {
    /// The steps from the whole object.
    pub steps: Vec<Step>,
    /// The schema at the path.
    pub schema: &'a Value,
}

/// The key for a value that is added to an empty map.
const KEY: &str = "key";

impl std::fmt::Display for SchemaPath<'_> {
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

/// Collects the path of a sampler and all paths below it.
pub(super) fn collect<'a>(
    sampler: &'a Sampler,
    steps: &mut Vec<Step>,
    out: &mut Vec<SchemaPath<'a>>,
) {
    out.push(SchemaPath {
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

/// Gives an object a value at a path if it has none. Returns the JSON pointer of the value.
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
                *value = Value::Array(vec![inner.sample(rng, Size::Minimal)]);
            }
            value = value.get_mut(0)?;
        } else {
            if !value.is_object() {
                *value = sampler.sample(rng, Size::Minimal);
            }
            let fields = value.as_object_mut()?;
            value = fields
                .entry(key)
                .or_insert_with(|| inner.sample(rng, Size::Minimal));
        }
        pointer.push('/');
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
        sampler = inner;
    }
    Some(pointer)
}

/// Generates a value for a path that fits its types and bounds. Rules and alternatives are ignored.
pub(super) fn sample_ignoring_rules(
    sampler: &Sampler,
    steps: &[Step],
    rng: &mut Rng,
    size: Size,
) -> Option<Value> {
    let mut sampler = sampler;
    for step in steps {
        sampler = match step {
            Step::Field(name) => &sampler.properties.iter().find(|(n, ..)| n == name)?.1,
            Step::Item => sampler.items.as_ref()?,
            Step::Entry => sampler.additional.as_ref()?,
        };
    }
    Some(sampler.once(rng, size))
}
