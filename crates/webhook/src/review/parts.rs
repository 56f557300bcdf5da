//! [`Parts`]: the objects of a review, separated from the rest.
//!
//! The objects are most of a review, and are decoded by the code that knows their type. They are skipped here, so that they are
//! parsed only once.

use std::ops::Range;

use crate::members::{Malformed, Members};

/// The objects of a review, and the rest of it with `null` in their place.
pub(crate) struct Parts<'a> {
    pub(super) rest: String,
    pub(super) object: Option<&'a str>,
    pub(super) old_object: Option<&'a str>,
}

impl<'a> Parts<'a> {
    /// Separates the parts of a review. Returns `None` if the text does not look like one.
    pub(crate) fn of(body: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        let [object, old_object] = places(text).ok()?;
        let mut rest = String::with_capacity(1024);
        let mut written = 0;
        let mut places: Vec<&Range<usize>> = object.iter().chain(&old_object).collect();
        places.sort_by_key(|place| place.start);
        for place in places {
            rest.push_str(text.get(written..place.start)?);
            rest.push_str("null");
            written = place.end;
        }
        rest.push_str(text.get(written..)?);
        let part = |place: Option<Range<usize>>| {
            let part = place.and_then(|place| text.get(place));
            part.filter(|part| *part != "null")
        };
        Some(Self {
            rest,
            object: part(object),
            old_object: part(old_object),
        })
    }
}

/// Returns the ranges of the object and the old object.
fn places(text: &str) -> Result<[Option<Range<usize>>; 2], Malformed> {
    let mut found = [None, None];
    let mut review = Members::new(text)?;
    while let Some(key) = review.key()? {
        let Some(mut request) = review.enter().filter(|_| key == "\"request\"") else {
            review.value()?;
            continue;
        };
        while let Some(key) = request.key()? {
            let value = request.value()?;
            let place = match key {
                "\"object\"" => &mut found[0],
                "\"oldObject\"" => &mut found[1],
                _ => continue,
            };
            // With duplicate names, the choice is left to a parser.
            if place.replace(value).is_some() {
                return Err(Malformed);
            }
        }
        review.leave(request);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_separated() {
        let text = r#"{"kind":"AdmissionReview","request":{"uid":"1","object": {"a":{}} ,"x":0,"oldObject":null}}"#;
        let parts = Parts::of(text.as_bytes()).unwrap();
        let rest = r#"{"kind":"AdmissionReview","request":{"uid":"1","object": null ,"x":0,"oldObject":null}}"#;
        assert_eq!(parts.rest, rest);
        assert_eq!(
            (parts.object, parts.old_object),
            (Some(r#"{"a":{}}"#), None)
        );
        let parts = Parts::of(br#"{"request":{"oldObject":[1],"object":2},"object":3}"#).unwrap();
        assert_eq!(
            parts.rest,
            r#"{"request":{"oldObject":null,"object":null},"object":3}"#
        );
        assert_eq!((parts.object, parts.old_object), (Some("2"), Some("[1]")));
    }

    #[test]
    fn other_bodies_are_not_separated() {
        for text in [
            "hello",
            "",
            "[]",
            r#"{"request":{"object":{}}"#,
            r#"{"request":{"object":{},"object":{}}}"#,
        ] {
            assert!(Parts::of(text.as_bytes()).is_none(), "{text}");
        }
        assert!(Parts::of(b"{\"request\":{\"object\":\"\xff\"}}").is_none());
    }
}
