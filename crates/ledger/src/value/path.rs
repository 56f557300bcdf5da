//! [`Path`]: the path of a field in an object.

use std::fmt;

use serde_json::Value;

/// The fields that can identify the items of a list, if their values are distinct.
const NAMES: [&str; 5] = ["name", "key", "type", "containerPort", "uid"];

/// The path of a field: `spec.containers[name=web].image`.
///
/// ```
/// use kubewright_ledger::Path;
///
/// let path = Path::root().key("metadata").key("labels").key("app.kubernetes.io/name");
/// assert_eq!(path.to_string(), r#"metadata.labels["app.kubernetes.io/name"]"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Vec<Step>);

/// A step of a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// An entry of a map.
    Key(String),
    /// The list item with this value of a field.
    Named(&'static str, String),
    /// The list item at an index.
    Index(usize),
}

impl Path {
    /// Returns the path of the object itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// Returns the path of an entry.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.step(Step::Key(key.to_owned()))
    }

    /// Returns the path one step below.
    #[must_use]
    pub fn step(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// Returns the steps.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Reports whether the path equals another one, or is below it.
    pub fn starts_with(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// Returns the prefixes of the path, from the object itself to the whole path.
    pub fn prefixes(&self) -> impl DoubleEndedIterator<Item = &[Step]> {
        (0..=self.0.len()).map(|len| &self.0[..len])
    }
}

impl From<&[Step]> for Path {
    fn from(steps: &[Step]) -> Self {
        Self(steps.to_vec())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if is_plain(key) => {
                    let dot = if at == 0 { "" } else { "." };
                    write!(f, "{dot}{key}")?;
                }
                Step::Key(key) => write!(f, "[{}]", Value::from(key.as_str()))?,
                Step::Named(field, value) => write!(f, "[{field}={value}]")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '$');
    !key.is_empty() && key.chars().all(plain)
}

/// Returns the field that identifies the items of a list, if there is one.
pub(super) fn naming_field(list: &[Value]) -> Option<&'static str> {
    if list.is_empty() {
        return None;
    }
    let names = |field: &&&str| {
        let mut seen = std::collections::HashSet::with_capacity(list.len());
        list.iter()
            .all(|element| name_of(element, field).is_some_and(|name| seen.insert(name)))
    };
    NAMES.iter().find(names).copied()
}

/// Returns the value of the identifying field of an item.
pub(super) fn name_of(element: &Value, field: &str) -> Option<String> {
    match element.get(field)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the steps to the items of a list.
pub(super) fn steps_of(list: &[Value]) -> Vec<Step> {
    let field = naming_field(list);
    let step = |(at, element): (usize, &Value)| {
        let named = field.and_then(|field| Some(Step::Named(field, name_of(element, field)?)));
        named.unwrap_or(Step::Index(at))
    };
    list.iter().enumerate().map(step).collect()
}
