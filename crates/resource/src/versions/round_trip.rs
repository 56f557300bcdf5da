//! Round trips: checks that conversion to another version and back loses nothing.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    custom_kind::CustomKind,
    generate::{Generator, Rng},
};

/// An object that differs after conversion to another version and back.
///
/// `Debug` prints the same text as `Display`, so that `unwrap` and `expect` show it readably.
pub struct Counterexample {
    /// The version of the object, and the version it was converted to.
    pub versions: (String, String),
    /// The seed that generates the object again: `Rng::new(seed)`.
    pub seed: u64,
    /// The original object.
    pub before: Value,
    /// The object in the other version; `null` if the first conversion failed.
    pub between: Value,
    /// The object after the way back; `null` if a conversion failed.
    pub after: Value,
    /// The difference, or the error of the conversion.
    pub reason: String,
}

/// The maximum number of attempts to reduce a counterexample.
const MAX_SHRINKS: usize = 2000;

/// Converts `cases` generated, valid objects of `A` to `B` and back, and compares. The first few objects are minimal.
///
/// In a test, write `round_trip::<v1::Captain, v2::Captain>(256).unwrap()` and another line for the way from `v2`. To check
/// all versions at once use [`Versions::check_round_trips`](super::Versions::check_round_trips), or let
/// [`round_trips!`](crate::round_trips) write the whole test.
///
/// # Errors
///
/// Returns the first object that differs, reduced to a small one that still differs.
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
/// # mod v2 {
/// #     use kube::CustomResource;
/// #     use serde::{Deserialize, Serialize};
/// #     #[derive(CustomResource, kubewright::Schema, Clone, Debug, Serialize, Deserialize)]
/// #     #[kube(group = "crew.example.com", version = "v2", kind = "Ship", namespaced)]
/// #     pub struct ShipSpec { pub masts: i32 }
/// # }
/// impl From<v1::Ship> for v2::Ship {
///     fn from(old: v1::Ship) -> Self {
///         // Masts beyond three are lost.
///         let spec = v2::ShipSpec { masts: old.spec.masts.min(3) };
///         v2::Ship { metadata: old.metadata, spec }
///     }
/// }
/// # impl From<v2::Ship> for v1::Ship {
/// #     fn from(new: v2::Ship) -> Self {
/// #         v1::Ship { metadata: new.metadata, spec: v1::ShipSpec { masts: new.spec.masts } }
/// #     }
/// # }
///
/// let lost = kubewright::round_trip::<v1::Ship, v2::Ship>(256).unwrap_err();
/// assert_eq!(lost.after["spec"]["masts"], 3);
/// ```
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
            reason: String::new(),
        });
        if let Err(reason) = object.map_err(|e| e.to_string()).and_then(|object| {
            // The server applies defaults, and types may rely on them.
            case.before = A::validator()
                .with_defaults(&object)
                .map_err(|status| status.message)?;
            check_round_trip::<A, B>(&mut case)
        }) {
            case.reason = reason;
            shrink::<A, B>(&mut case);
            return Err(case);
        }
    }
    Ok(())
}

/// Removes values one by one as long as the object stays valid and its round trip still fails.
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
            if tries > MAX_SHRINKS {
                return;
            }
            let mut before = case.before.clone();
            if !remove(&mut before, &pointer) || A::validator().create(&before).is_err() {
                continue;
            }
            let Ok(before) = A::validator().with_defaults(&before) else {
                continue;
            };
            let mut less = Counterexample {
                versions: case.versions.clone(),
                seed: case.seed,
                before,
                between: Value::Null,
                after: Value::Null,
                reason: String::new(),
            };
            if less.before == case.before {
                continue;
            }
            if let Err(reason) = check_round_trip::<A, B>(&mut less) {
                less.reason = reason;
                *case = less;
                smaller = true;
                break;
            }
        }
    }
}

/// Returns the JSON pointers of all values in spec and status, outer values first.
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

fn check_round_trip<A, B>(case: &mut Counterexample) -> Result<(), String>
where
    A: CustomKind + DeserializeOwned + TryFrom<B, Error: fmt::Display>,
    B: CustomKind + TryFrom<A, Error: fmt::Display>,
{
    let read = |value: &Value| -> Result<A, String> {
        let read = serde_json::from_value(value.clone());
        read.map_err(|e| {
            format!("the server accepts this object, but the type cannot represent it: {e}")
        })
    };
    let write = |e: serde_json::Error| e.to_string();
    // Fields that the type does not have are not lost by the conversion.
    case.before = serde_json::to_value(read(&case.before)?).map_err(write)?;
    let there = B::try_from(read(&case.before)?).map_err(|e| format!("conversion failed: {e}"))?;
    case.between = serde_json::to_value(&there).map_err(write)?;
    let back = A::try_from(there).map_err(|e| format!("conversion back failed: {e}"))?;
    case.after = serde_json::to_value(&back).map_err(write)?;
    match difference(&case.before, &case.after, String::new()) {
        None => Ok(()),
        Some(difference) => Err(difference),
    }
}

/// Describes the first difference between two values.
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
                    (Some(a), None) => Some(format!("{inner} was {a} and is missing")),
                    (None, Some(b)) => Some(format!("{inner} was missing and is {b}")),
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
        writeln!(f, "{from} to {to} and back: {}", self.reason)?;
        writeln!(f, "  before:  {}", self.before)?;
        writeln!(f, "  between: {}", self.between)?;
        writeln!(f, "  after:   {}", self.after)?;
        writeln!(f, "  seed {}", self.seed)?;
        write!(
            f,
            "store what {to} cannot represent in an annotation, and restore it on the way back"
        )
    }
}

impl fmt::Debug for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for Counterexample {}

/// Defines a test that conversion between versions loses nothing. The first type is the hub; the others convert to it and back
/// by `From` or `TryFrom`.
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
