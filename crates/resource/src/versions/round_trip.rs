//! There and back: conversion must lose nothing.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    definition::CustomKind,
    generate::{Generator, Rng},
};

/// An object that is not the same after its way to another version and back. `unwrap` and `expect` show it as it is displayed.
pub struct Counterexample {
    /// The version where the way began, and the one it led to.
    pub versions: (String, String),
    /// The number to make the object again: `Rng::new(seed)`.
    pub seed: u64,
    /// The object.
    pub before: Value,
    /// What it became, if it got so far.
    pub between: Value,
    /// What it was in the end, if it got so far.
    pub after: Value,
    /// What is wrong.
    pub why: String,
}

/// How often a counterexample is tried to be made smaller.
const SHRINKS: usize = 2000;

/// Converts so many generated, valid objects of `A` to `B` and back, and compares. The first few are small.
///
/// One line in a test, `round_trip::<v1::Captain, v2::Captain>(256).unwrap()`, and another for the way from `v2`;
/// [`Versions::check_round_trips`](super::Versions::check_round_trips) for all versions at once; or
/// [`round_trips!`](crate::round_trips) for the whole test. What is found is made as small as it can be and still be wrong.
pub fn round_trip<A, B>(cases: u64) -> Result<(), Box<Counterexample>>
where
    A: CustomKind + DeserializeOwned + TryFrom<B, Error: fmt::Display>,
    B: CustomKind + TryFrom<A, Error: fmt::Display>,
{
    let generator = Generator::of::<A>();
    for seed in 0..cases {
        let mut rng = Rng::new(seed);
        let object = match seed < 8 {
            true => generator.minimal(&mut rng),
            false => generator.object(&mut rng),
        };
        let mut case = Box::new(Counterexample {
            versions: (
                A::api_version(&()).into_owned(),
                B::api_version(&()).into_owned(),
            ),
            seed,
            before: Value::Null,
            between: Value::Null,
            after: Value::Null,
            why: String::new(),
        });
        if let Err(why) = object.map_err(|e| e.to_string()).and_then(|object| {
            // As the server would give it: a type may count on defaults.
            case.before = A::judge().with_defaults(&object);
            there_and_back::<A, B>(&mut case)
        }) {
            case.why = why;
            shrink::<A, B>(&mut case);
            return Err(case);
        }
    }
    Ok(())
}

/// Takes away what the object need not have to be valid and to be wrong on its way, one thing after the other.
fn shrink<A, B>(case: &mut Counterexample)
where
    A: CustomKind + DeserializeOwned + TryFrom<B, Error: fmt::Display>,
    B: CustomKind + TryFrom<A, Error: fmt::Display>,
{
    let mut tries = 0;
    let mut smaller = true;
    while smaller {
        smaller = false;
        for pointer in pointers(&case.before) {
            tries += 1;
            if tries > SHRINKS {
                return;
            }
            let mut before = case.before.clone();
            if !remove(&mut before, &pointer) || A::judge().create(&before).is_err() {
                continue;
            }
            let mut less = Counterexample {
                versions: case.versions.clone(),
                seed: case.seed,
                before: A::judge().with_defaults(&before),
                between: Value::Null,
                after: Value::Null,
                why: String::new(),
            };
            if less.before == case.before {
                continue;
            }
            if let Err(why) = there_and_back::<A, B>(&mut less) {
                less.why = why;
                *case = less;
                smaller = true;
                break;
            }
        }
    }
}

/// Where something stands in the spec or the status, the outer before the inner.
fn pointers(object: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let mut open = vec![String::from("/status"), String::from("/spec")];
    while let Some(pointer) = open.pop() {
        match object.pointer(&pointer) {
            Some(Value::Object(fields)) => {
                let below = fields
                    .keys()
                    .map(|key| key.replace('~', "~0").replace('/', "~1"));
                open.extend(below.map(|key| format!("{pointer}/{key}")));
            }
            Some(Value::Array(items)) => {
                open.extend((0..items.len()).map(|n| format!("{pointer}/{n}")));
            }
            _ => {}
        }
        out.push(pointer);
    }
    out.sort_by_key(|pointer| pointer.matches('/').count());
    out
}

fn remove(object: &mut Value, pointer: &str) -> bool {
    let Some((parent, key)) = pointer.rsplit_once('/') else {
        return false;
    };
    match object.pointer_mut(parent) {
        Some(Value::Object(fields)) => {
            let key = key.replace("~1", "/").replace("~0", "~");
            fields.remove(&key).is_some()
        }
        Some(Value::Array(items)) => match key.parse() {
            Ok(n) if n < items.len() => {
                items.remove(n);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

fn there_and_back<A, B>(case: &mut Counterexample) -> Result<(), String>
where
    A: CustomKind + DeserializeOwned + TryFrom<B, Error: fmt::Display>,
    B: CustomKind + TryFrom<A, Error: fmt::Display>,
{
    let read = |value: &Value| -> Result<A, String> {
        let read = serde_json::from_value(value.clone());
        read.map_err(|e| format!("the server takes this object, and the type cannot hold it: {e}"))
    };
    let write = |e: serde_json::Error| e.to_string();
    // What the type does not hold is not lost by a conversion.
    case.before = serde_json::to_value(read(&case.before)?).map_err(write)?;
    let there = B::try_from(read(&case.before)?).map_err(|e| format!("there: {e}"))?;
    case.between = serde_json::to_value(&there).map_err(write)?;
    let back = A::try_from(there).map_err(|e| format!("back: {e}"))?;
    case.after = serde_json::to_value(&back).map_err(write)?;
    match difference(&case.before, &case.after, String::new()) {
        None => Ok(()),
        Some(difference) => Err(difference),
    }
}

/// The first place where two values differ.
fn difference(before: &Value, after: &Value, path: String) -> Option<String> {
    match (before, after) {
        (Value::Object(a), Value::Object(b)) => {
            let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            keys.into_iter().find_map(|key| {
                let inner = format!("{path}.{key}");
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => difference(a, b, inner),
                    (Some(a), None) => Some(format!("{inner} was {a} and is lost")),
                    (None, Some(b)) => Some(format!("{inner} was not there and is {b}")),
                    (None, None) => None,
                }
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(i, (a, b))| difference(a, b, format!("{path}[{i}]")))
        }
        (a, b) if a == b => None,
        (a, b) => Some(format!("{path} was {a} and is {b}")),
    }
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = &self.versions;
        writeln!(f, "{from} to {to} and back: {}", self.why)?;
        writeln!(f, "  before:  {}", self.before)?;
        writeln!(f, "  between: {}", self.between)?;
        writeln!(f, "  after:   {}", self.after)?;
        writeln!(f, "  seed {}", self.seed)?;
        write!(
            f,
            "what {to} has no place for can be kept in an annotation, and taken from there on the way back"
        )
    }
}

impl fmt::Debug for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for Counterexample {}

/// A test, in one line: that conversion between versions loses nothing. The first type is the hub, the others convert to it and
/// back, by `From` or `TryFrom`.
///
/// ```
/// # extern crate kubewright_resource as kubewright;
/// # mod v1 {
/// #     use kube::CustomResource;
/// #     use serde::{Deserialize, Serialize};
/// #     #[derive(CustomResource, kubewright::Schema, Clone, Debug, Serialize, Deserialize)]
/// #     #[kube(group = "crew.example.com", version = "v1", kind = "Ship", namespaced)]
/// #     pub struct ShipSpec { pub masts: i32 }
/// # }
/// # mod v1beta1 {
/// #     use kube::CustomResource;
/// #     use serde::{Deserialize, Serialize};
/// #     #[derive(CustomResource, kubewright::Schema, Clone, Debug, Serialize, Deserialize)]
/// #     #[kube(group = "crew.example.com", version = "v1beta1", kind = "Ship", namespaced)]
/// #     pub struct ShipSpec { pub poles: i32 }
/// # }
/// # impl From<v1beta1::Ship> for v1::Ship {
/// #     fn from(old: v1beta1::Ship) -> Self {
/// #         v1::Ship { metadata: old.metadata, spec: v1::ShipSpec { masts: old.spec.poles } }
/// #     }
/// # }
/// # impl From<v1::Ship> for v1beta1::Ship {
/// #     fn from(new: v1::Ship) -> Self {
/// #         v1beta1::Ship { metadata: new.metadata, spec: v1beta1::ShipSpec { poles: new.spec.masts } }
/// #     }
/// # }
/// kubewright::round_trips!(ships_lose_nothing: v1::Ship, v1beta1::Ship);
/// # fn main() { ships_lose_nothing() }
/// ```
#[macro_export]
macro_rules! round_trips {
    ($test:ident: $hub:ty $(, $spoke:ty)+ $(,)?) => {
        #[cfg_attr(test, test)]
        fn $test() {
            let versions = $crate::Versions::<$hub>::hub()$(.spoke::<$spoke>())+;
            if let Err(lost) = versions.check_round_trips(256) {
                panic!("{lost}");
            }
        }
    };
}
