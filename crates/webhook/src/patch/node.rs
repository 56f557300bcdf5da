//! [`Node`]: one level of a JSON document, whose children are text.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// One level of a document.
pub(super) enum Node<'a> {
    Object(Fields<'a>),
    List(Vec<&'a RawValue>),
    Leaf,
}

/// The fields of an object, in order.
pub(super) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Node<'a> {
    pub(super) fn of(text: &'a RawValue) -> serde_json::Result<Self> {
        match text.get().as_bytes().first() {
            Some(b'{') => serde_json::from_str(text.get()).map(Self::Object),
            Some(b'[') => serde_json::from_str(text.get()).map(Self::List),
            _ => Ok(Self::Leaf),
        }
    }
}

impl<'a> Fields<'a> {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(key, value)| (&**key, *value))
    }

    /// Returns a field; the last one if several have the same name, as parsers do.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        let mut found = self.0.iter().rev();
        found
            .find(|(other, _)| other == key)
            .map(|(_, value)| *value)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((Key(key), value)) = map.next_entry()? {
                    fields.push((key, value));
                }
                Ok(Fields(fields))
            }
        }

        from.deserialize_map(Object)
    }
}

/// A key, borrowed unless it has escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
