//! There and back: conversion must lose nothing.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    definition::CustomKind,
    generate::{Generator, Rng},
};

/// An object that is not the same after its way to another version and back.
#[derive(Debug)]
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

/// Converts so many generated, valid objects of `A` to `B` and back, and compares. The first few are small.
///
/// One line in a test, `round_trip::<v1::Captain, v2::Captain>(256).unwrap()`, and another for the way from `v2`; or
/// [`Versions::check_round_trips`](super::Versions::check_round_trips) for all versions at once.
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
            return Err(case);
        }
    }
    Ok(())
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
        write!(f, "  seed {}", self.seed)
    }
}

impl std::error::Error for Counterexample {}
