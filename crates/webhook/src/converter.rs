//! [`Converter`]: converts objects between the versions of a kind, along pairs of versions.

use std::{collections::VecDeque, fmt::Display, sync::Arc};

use kubewright_resource::{ConversionError, CustomKind, Versions};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Converts objects between the versions of their kinds. Clones are cheap and share the conversions.
///
/// It supports types with `From` or `TryFrom` in both directions.
///
/// ```
/// # extern crate kubewright_resource as kubewright;
/// use kubewright_webhook::Converter;
/// use serde_json::json;
///
/// mod v1 {
///     #[derive(kube::CustomResource, kubewright::Schema, Clone, Debug, serde::Serialize, serde::Deserialize)]
///     #[kube(group = "example.com", version = "v1", kind = "Ship")]
///     pub struct ShipSpec {
///         pub name: String,
///     }
/// }
///
/// mod v2 {
///     #[derive(kube::CustomResource, kubewright::Schema, Clone, Debug, serde::Serialize, serde::Deserialize)]
///     #[kube(group = "example.com", version = "v2", kind = "Ship", storage = false)]
///     pub struct ShipSpec {
///         pub title: String,
///     }
/// }
///
/// impl From<v1::Ship> for v2::Ship {
///     fn from(old: v1::Ship) -> Self {
///         Self { metadata: old.metadata, spec: v2::ShipSpec { title: old.spec.name } }
///     }
/// }
///
/// impl From<v2::Ship> for v1::Ship {
///     fn from(new: v2::Ship) -> Self {
///         Self { metadata: new.metadata, spec: v1::ShipSpec { name: new.spec.title } }
///     }
/// }
///
/// let converter = Converter::new().between::<v1::Ship, v2::Ship>();
/// let old = json!({
///     "apiVersion": "example.com/v1",
///     "kind": "Ship",
///     "metadata": {"name": "a"},
///     "spec": {"name": "Pequod"},
/// });
/// let new = converter.convert(&old, "example.com/v2").unwrap();
/// assert_eq!(new["spec"]["title"], "Pequod");
/// ```
#[derive(Clone, Default)]
pub struct Converter(Vec<Arc<Pair>>);

/// Converts an object to the given `apiVersion`.
type Convert = Box<dyn Fn(&Value, &str) -> Result<Value, ConversionError> + Send + Sync>;

/// Two versions of a kind that convert into each other.
struct Pair {
    /// The names of the CRDs of the two types, which are equal if the pair is valid.
    crds: [String; 2],
    group: String,
    kind: String,
    versions: [String; 2],
    convert: Convert,
}

impl Converter {
    /// Creates a converter without conversions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the conversion between two versions of a kind.
    ///
    /// Conversions are chained: two pairs are enough for three versions, and objects are converted through the shared version.
    #[must_use]
    pub fn between<A, B>(mut self) -> Self
    where
        A: CustomKind + DeserializeOwned + TryFrom<B, Error: Display>,
        B: CustomKind + DeserializeOwned + TryFrom<A, Error: Display>,
    {
        let versions = Versions::<A>::hub().spoke::<B>();
        self.0.push(Arc::new(Pair {
            crds: [name::<A>(), name::<B>()],
            group: A::group(&()).into_owned(),
            kind: A::kind(&()).into_owned(),
            versions: [A::version(&()).into_owned(), B::version(&()).into_owned()],
            convert: Box::new(move |object, to| versions.convert(object, to)),
        }));
        self
    }

    /// Returns the CRD names of a pair of types that are not versions of the same kind, if there is one.
    pub fn contradiction(&self) -> Option<(&str, &str)> {
        let wrong = self.pairs().find(|pair| pair.crds[0] != pair.crds[1]);
        wrong.map(|pair| (&*pair.crds[0], &*pair.crds[1]))
    }

    fn pairs(&self) -> impl Iterator<Item = &Pair> {
        self.0.iter().map(|pair| &**pair)
    }

    /// Returns the names of the CRDs whose objects it can convert, sorted.
    pub fn crds(&self) -> Vec<String> {
        let mut names: Vec<String> = self.pairs().map(|pair| pair.crds[0].clone()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Converts an object to another `apiVersion`, such as `crew.example.com/v2`.
    ///
    /// # Errors
    ///
    /// Fails if the kind or the version has no registered conversion, or if a conversion fails.
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
        for step in shortest_path(&pairs().collect::<Vec<_>>(), from, wanted)? {
            let version = &step.pair.versions[step.end];
            converted = (step.pair.convert)(&converted, &format!("{group}/{version}"))?;
        }
        Ok(converted)
    }
}

fn name<K: CustomKind>() -> String {
    format!("{}.{}", K::plural(&()), K::group(&()))
}

/// A conversion from one version of a pair to the other.
#[derive(Clone, Copy)]
struct Step<'a> {
    pair: &'a Pair,
    /// The index of the target version in the pair.
    end: usize,
}

/// Returns the shortest path from one version to another.
fn shortest_path<'a>(
    pairs: &[&'a Pair],
    from: &str,
    to: &str,
) -> Result<Vec<Step<'a>>, ConversionError> {
    for version in [from, to] {
        if !pairs
            .iter()
            .any(|pair| pair.versions.iter().any(|v| v == version))
        {
            return Err(ConversionError::UnknownVersion(version.to_owned()));
        }
    }
    let mut paths = VecDeque::from([(from, Vec::new())]);
    let mut seen = vec![from];
    while let Some((at, path)) = paths.pop_front() {
        if at == to {
            return Ok(path);
        }
        for pair in pairs {
            for end in [0, 1] {
                let next = pair.versions[end].as_str();
                if pair.versions[1 - end] == at && !seen.contains(&next) {
                    seen.push(next);
                    let mut longer: Vec<Step<'a>> = path.clone();
                    longer.push(Step { pair, end });
                    paths.push_back((next, longer));
                }
            }
        }
    }
    Err(ConversionError::Failed {
        from: from.to_owned(),
        to: to.to_owned(),
        why: "no registered conversions connect the two versions".to_owned(),
    })
}
