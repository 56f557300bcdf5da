//! Times as text in JSON.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serializer, de::Error};

pub(crate) fn serialize<S: Serializer>(at: &Timestamp, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(at)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(D::Error::custom)
}

/// Optional times.
pub(crate) mod optional {
    use super::{Deserialize, Deserializer, Error, Serializer, Timestamp};

    pub(crate) fn serialize<S: Serializer>(
        at: &Option<Timestamp>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => out.collect_str(at),
            None => out.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        let parsed = text.map(|text| text.parse().map_err(D::Error::custom));
        parsed.transpose()
    }
}
