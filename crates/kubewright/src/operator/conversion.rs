//! [`Converter`]: objects from one version of a kind to another, step by step along the pairs of versions that convert into
//! each other.

use std::{collections::VecDeque, fmt::Display, sync::Arc};

use kubewright_resource::{CustomKind, Versions, versions::ConversionError};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Operator;

/// What converts the objects of an operator's kinds. Clones share it.
#[derive(Clone, Default)]
pub struct Converter(Vec<Arc<Pair>>);

/// An object, and the version it is wanted in.
type Convert = Box<dyn Fn(&Value, &str) -> Result<Value, ConversionError> + Send + Sync>;

/// Two versions of a kind that convert into each other.
pub(super) struct Pair {
    /// The definitions that the versions belong to: the same, if all is well.
    pub(super) definitions: [String; 2],
    group: String,
    kind: String,
    versions: [String; 2],
    convert: Convert,
}

impl Operator {
    /// Objects of these versions of a kind convert into each other. Of three versions, two pairs are enough: objects go
    /// through the one in the middle.
    pub fn conversion<A, B>(&mut self) -> &mut Self
    where
        A: CustomKind + DeserializeOwned + TryFrom<B, Error: Display>,
        B: CustomKind + DeserializeOwned + TryFrom<A, Error: Display>,
    {
        let versions = Versions::<A>::hub().spoke::<B>();
        self.converter.0.push(Arc::new(Pair {
            definitions: [name::<A>(), name::<B>()],
            group: A::group(&()).into_owned(),
            kind: A::kind(&()).into_owned(),
            versions: [A::version(&()).into_owned(), B::version(&()).into_owned()],
            convert: Box::new(move |object, to| versions.convert(object, to)),
        }));
        self
    }

    /// What converts the objects of its kinds.
    pub fn converter(&self) -> Converter {
        self.converter.clone()
    }
}

impl Converter {
    pub(super) fn pairs(&self) -> impl Iterator<Item = &Pair> {
        self.0.iter().map(|pair| &**pair)
    }

    /// The definitions whose objects it converts, sorted.
    pub fn definitions(&self) -> Vec<String> {
        let mut names: Vec<String> = self.pairs().map(|it| it.definitions[0].clone()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// An object in another version, named as `crew.example.com/v2`.
    pub fn convert(&self, object: &Value, to: &str) -> Result<Value, ConversionError> {
        let given = object["apiVersion"].as_str().unwrap_or_default();
        let kind = object["kind"].as_str().unwrap_or_default();
        let (group, from) = given.split_once('/').unwrap_or(("", given));
        let (wanted_group, wanted) = to.split_once('/').unwrap_or(("", to));
        let pairs = || {
            let of = move |pair: &&Pair| pair.group == group && pair.kind == kind;
            self.pairs().filter(of)
        };
        if group != wanted_group || pairs().next().is_none() {
            return Err(ConversionError::Foreign {
                given: format!("{given}, Kind={kind}"),
                to: to.to_owned(),
            });
        }
        let mut converted = object.clone();
        for step in way(&pairs().collect::<Vec<_>>(), from, wanted)? {
            let version = &step.pair.versions[step.end];
            converted = (step.pair.convert)(&converted, &format!("{group}/{version}"))?;
        }
        Ok(converted)
    }
}

fn name<K: CustomKind>() -> String {
    format!("{}.{}", K::plural(&()), K::group(&()))
}

/// A step from a version of a pair to the other.
#[derive(Clone, Copy)]
struct Step<'a> {
    pair: &'a Pair,
    /// Which of the versions it leads to.
    end: usize,
}

/// The fewest steps from a version to another.
fn way<'a>(pairs: &[&'a Pair], from: &str, to: &str) -> Result<Vec<Step<'a>>, ConversionError> {
    for version in [from, to] {
        if !pairs
            .iter()
            .any(|it| it.versions.iter().any(|v| v == version))
        {
            return Err(ConversionError::UnknownVersion(version.to_owned()));
        }
    }
    let mut ways = VecDeque::from([(from, Vec::new())]);
    let mut seen = vec![from];
    while let Some((at, way)) = ways.pop_front() {
        if at == to {
            return Ok(way);
        }
        for pair in pairs {
            for end in [0, 1] {
                let next = pair.versions[end].as_str();
                if pair.versions[1 - end] == at && !seen.contains(&next) {
                    seen.push(next);
                    let mut longer: Vec<Step<'a>> = way.clone();
                    longer.push(Step { pair, end });
                    ways.push_back((next, longer));
                }
            }
        }
    }
    Err(ConversionError::Failed {
        from: from.to_owned(),
        to: to.to_owned(),
        why: "no conversions lead from one to the other".to_owned(),
    })
}
