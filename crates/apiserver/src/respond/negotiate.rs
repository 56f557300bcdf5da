//! Content negotiation: the `Accept` header against what an endpoint offers.

use http::HeaderMap;
use kubewright_machinery::{Status, status};

use crate::request::query::Query;

/// An encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// `application/json`
    Json,
    /// `application/yaml`
    Yaml,
    /// `application/vnd.kubernetes.protobuf`
    Protobuf,
}

/// Another form of the same objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transform {
    /// The objects themselves.
    None,
    /// Rows and columns; the version of `meta.k8s.io`.
    Table(&'static str),
    /// Only metadata, of one object.
    Partial(&'static str),
    /// Only metadata, of a list.
    PartialList(&'static str),
}

/// What the client wants and the endpoint can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The encoding.
    pub media: Media,
    /// The form.
    pub transform: Transform,
    /// Indented.
    pub pretty: bool,
}

/// What an endpoint offers.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// The encodings, preferred first.
    pub media: &'static [Media],
    /// The objects themselves have a protobuf form; otherwise only what stands for them has.
    pub plain_protobuf: bool,
    /// Tables and metadata can be had.
    pub transforms: bool,
    /// Objects have a form as rows of a table.
    pub tables: bool,
    /// The answer may be a stream of events.
    pub streams: bool,
}

/// Built-in types: every encoding.
pub const BUILT_IN: &[Media] = &[Media::Json, Media::Yaml, Media::Protobuf];
/// Types without a protobuf form.
pub const NO_PROTOBUF: &[Media] = &[Media::Json, Media::Yaml];

impl Media {
    /// The media type.
    pub fn name(self) -> &'static str {
        match self {
            Media::Json => "application/json",
            Media::Yaml => "application/yaml",
            Media::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// From a `Content-Type` without parameters.
    pub fn from_name(name: &str) -> Option<Self> {
        [Media::Json, Media::Yaml, Media::Protobuf]
            .into_iter()
            .find(|m| m.name() == name)
    }
}

impl Accepted {
    /// Plain JSON.
    pub const JSON: Self = Self {
        media: Media::Json,
        transform: Transform::None,
        pretty: false,
    };

    /// Negotiates. The error is the real server's 406.
    pub fn negotiate(headers: &HeaderMap, query: &Query, offer: &Offer) -> Result<Self, Status> {
        let accept = headers
            .get(http::header::ACCEPT)
            .and_then(|v| v.to_str().ok())
            .unwrap_or("");
        let pretty = wants_pretty(headers, query);
        if accept.is_empty() {
            return Ok(Self {
                media: offer.media[0],
                transform: Transform::None,
                pretty,
            });
        }
        let clauses = parse_accept(accept);
        let mut known = false;
        for clause in &clauses {
            for media in offer.media.iter().filter(|m| clause.covers(**m)) {
                known = true;
                if let Some(transform) = clause.transform(offer, *media) {
                    let pretty = pretty || clause.parameter("pretty") == Some("1");
                    return Ok(Self {
                        media: *media,
                        transform,
                        pretty,
                    });
                }
            }
        }
        Err(not_acceptable(offer, known))
    }

    /// The form for errors: the same encoding, untransformed; JSON where nothing fits.
    pub fn for_status(headers: &HeaderMap, query: &Query) -> Self {
        let offer = Offer {
            media: BUILT_IN,
            plain_protobuf: true,
            transforms: true,
            tables: true,
            streams: false,
        };
        let fallback = Self {
            pretty: true,
            ..Self::JSON
        };
        let accepted = Self::negotiate(headers, query, &offer).unwrap_or(fallback);
        Self {
            transform: Transform::None,
            ..accepted
        }
    }
}

/// The encoding of a request body, from its `Content-Type`.
pub fn body_media(headers: &HeaderMap, supported: &'static [Media]) -> Result<Media, Status> {
    let content_type = headers
        .get(http::header::CONTENT_TYPE)
        .and_then(|v| v.to_str().ok());
    let name = content_type
        .unwrap_or("")
        .split(';')
        .next()
        .unwrap_or("")
        .trim()
        .to_ascii_lowercase();
    if name.is_empty() {
        return Ok(supported[0]);
    }
    Media::from_name(&name)
        .filter(|m| supported.contains(m))
        .ok_or_else(|| {
            let names: Vec<&str> = supported.iter().map(|m| m.name()).collect();
            status::unsupported_media_type(&names)
        })
}

fn not_acceptable(offer: &Offer, known: bool) -> Status {
    let names: Vec<&str> = offer.media.iter().map(|m| m.name()).collect();
    if known {
        return status::not_acceptable(&names);
    }
    let streams = offer
        .media
        .iter()
        .filter(|m| offer.streams && **m != Media::Yaml);
    let all: Vec<String> = names
        .iter()
        .map(|n| (*n).to_owned())
        .chain(streams.map(|m| format!("{};stream=watch", m.name())))
        .collect();
    let text = format!(
        "406: Not Acceptable\n\nAvailable representations: {}",
        all.join(", ")
    );
    Status::failure(406, "NotAcceptable", text).with_details(Default::default())
}

/// Asked for, or a person's browser or curl.
fn wants_pretty(headers: &HeaderMap, query: &Query) -> bool {
    if let Some(pretty) = query.first("pretty").filter(|p| !p.is_empty()) {
        return matches!(pretty, "1" | "t" | "T" | "true" | "TRUE" | "True");
    }
    let agent = headers
        .get(http::header::USER_AGENT)
        .and_then(|v| v.to_str().ok())
        .unwrap_or("");
    ["curl", "Wget", "Mozilla/5.0"]
        .iter()
        .any(|person| agent.starts_with(person))
}

struct Clause<'a> {
    main: &'a str,
    sub: &'a str,
    quality: f32,
    parameters: Vec<(&'a str, &'a str)>,
}

impl Clause<'_> {
    fn covers(&self, media: Media) -> bool {
        let (main, sub) = media.name().split_once('/').unwrap_or_default();
        (self.main == main && (self.sub == sub || self.sub == "*"))
            || (self.main == "*" && self.sub == "*")
    }

    fn parameter(&self, key: &str) -> Option<&str> {
        self.parameters
            .iter()
            .find(|(k, _)| *k == key)
            .map(|(_, v)| *v)
    }

    /// The form that the clause asks for; `None` where the endpoint does not have it.
    fn transform(&self, offer: &Offer, media: Media) -> Option<Transform> {
        if self.parameter("stream").is_some_and(|s| s != "watch") || self.parameter("sv").is_some()
        {
            return None;
        }
        let (kind, group, version) = (
            self.parameter("as"),
            self.parameter("g"),
            self.parameter("v"),
        );
        if kind.is_none() && group.is_none() && version.is_none() {
            let has_form = media != Media::Protobuf || offer.plain_protobuf;
            return has_form.then_some(Transform::None);
        }
        if !offer.transforms || group != Some("meta.k8s.io") {
            return None;
        }
        let version = match version {
            Some("v1") => "v1",
            Some("v1beta1") => "v1beta1",
            _ => return None,
        };
        match kind {
            // Tables have no protobuf form.
            Some("Table") if media == Media::Protobuf || !offer.tables => None,
            Some("Table") => Some(Transform::Table(version)),
            Some("PartialObjectMetadata") => Some(Transform::Partial(version)),
            Some("PartialObjectMetadataList") => Some(Transform::PartialList(version)),
            _ => None,
        }
    }
}

/// The clauses, best first.
fn parse_accept(accept: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = accept
        .split(',')
        .filter_map(|part| {
            let mut parts = part.split(';').map(str::trim);
            let (main, sub) = parts.next()?.split_once('/').unwrap_or(("*", "*"));
            let mut clause = Clause {
                main,
                sub,
                quality: 1.0,
                parameters: Vec::new(),
            };
            for parameter in parts {
                let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
                match key {
                    "q" => clause.quality = value.parse().unwrap_or(1.0),
                    _ => clause.parameters.push((key, value)),
                }
            }
            Some(clause)
        })
        .collect();
    let rank = |c: &Clause<'_>| (c.main != "*") as u8 + (c.sub != "*") as u8;
    clauses.sort_by(|a, b| {
        b.quality
            .total_cmp(&a.quality)
            .then_with(|| rank(b).cmp(&rank(a)))
    });
    clauses
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFER: Offer = Offer {
        media: BUILT_IN,
        plain_protobuf: true,
        transforms: true,
        tables: true,
        streams: true,
    };

    fn negotiate(accept: &str) -> Result<Accepted, Status> {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::ACCEPT, accept.parse().unwrap());
        Accepted::negotiate(&headers, &Query::default(), &OFFER)
    }

    #[test]
    fn the_first_acceptable_clause_wins() {
        assert_eq!(negotiate("*/*").unwrap().media, Media::Json);
        assert_eq!(negotiate("application/yaml").unwrap().media, Media::Yaml);
        let preferred = negotiate("application/yaml;q=0.9,application/json;q=0.5").unwrap();
        assert_eq!(preferred.media, Media::Yaml);
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        assert_eq!(negotiate(table).unwrap().transform, Transform::Table("v1"));
    }

    #[test]
    fn an_unknown_transform_falls_through_to_the_next_clause() {
        let fallback = "application/json;as=Table;v=v2;g=meta.k8s.io,application/json";
        assert_eq!(negotiate(fallback).unwrap().transform, Transform::None);
        let refused = negotiate("application/json;as=Foo").unwrap_err();
        assert!(
            refused
                .message
                .starts_with("only the following media types are accepted")
        );
    }

    #[test]
    fn an_unknown_type_is_not_acceptable() {
        let refused = negotiate("application/foo").unwrap_err();
        assert_eq!(refused.code, 406);
        assert!(
            refused
                .message
                .starts_with("406: Not Acceptable\n\nAvailable representations: ")
        );
    }
}
