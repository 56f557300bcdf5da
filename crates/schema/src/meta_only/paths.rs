//! Reading scalars at dotted paths while skipping everything else.

use std::{borrow::Cow, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::Text;

/// Where below one object values are wanted: the number of the path, and what is left of it.
pub(super) struct Paths<'p> {
    wanted: Vec<(usize, &'p str)>,
}

impl<'p> Paths<'p> {
    /// Those of the paths that start with a key.
    pub(super) fn below(paths: &[&'p str], key: &str) -> Self {
        Paths {
            wanted: paths
                .iter()
                .enumerate()
                .filter_map(|(i, path)| Some((i, rest(path, key)?)))
                .collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    pub(super) fn into_seed<'s, 'a>(
        self,
        fields: &'s mut [Option<Cow<'a, str>>],
    ) -> FieldSeed<'s, 'a, 'p> {
        FieldSeed {
            fields,
            paths: self,
        }
    }

    fn step(&self, key: &str) -> Self {
        Paths {
            wanted: self
                .wanted
                .iter()
                .filter_map(|(i, path)| Some((*i, rest(path, key)?)))
                .collect(),
        }
    }
}

pub(super) struct FieldSeed<'s, 'a, 'p> {
    fields: &'s mut [Option<Cow<'a, str>>],
    paths: Paths<'p>,
}

impl<'a> FieldSeed<'_, 'a, '_> {
    /// A scalar is here; it goes to the paths that end here.
    fn found(self, value: Cow<'a, str>) {
        for (index, path) in self.paths.wanted {
            if path.is_empty()
                && let Some(slot) = self.fields.get_mut(index)
            {
                *slot = Some(value.clone());
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for FieldSeed<'_, 'de, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FieldSeed<'_, 'de, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<(), E> {
        self.found(Cow::Borrowed(text));
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.found(Cow::Owned(text.to_owned()));
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.found(Cow::Borrowed(if value { "true" } else { "false" }));
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.found(Cow::Owned(value.to_string()));
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.found(Cow::Owned(value.to_string()));
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.found(Cow::Owned(value.to_string()));
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(key)) = map.next_key()? {
            let below = self.paths.step(&key);
            if below.is_empty() {
                map.next_value::<IgnoredAny>()?;
            } else {
                map.next_value_seed(below.into_seed(self.fields))?;
            }
        }
        Ok(())
    }
}

/// What is left of a path after a key: nothing, or what follows the dot.
fn rest<'p>(path: &'p str, key: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(key)?;
    if rest.is_empty() {
        return Some(rest);
    }
    rest.strip_prefix('.')
}
