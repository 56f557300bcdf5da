//! Content negotiation.

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

/// A form of the requested objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transform {
    /// The objects themselves.
    None,
    /// A table; the version of `meta.k8s.io`.
    Table(&'static str),
    /// The metadata of an object.
    Partial(&'static str),
    /// The metadata of a list.
    PartialList(&'static str),
}

/// The result of negotiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The encoding.
    pub media: Media,
    /// The form.
    pub transform: Transform,
    /// Whether the response is indented.
    pub pretty: bool,
}

/// The forms that an endpoint offers.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// The encodings, preferred first.
    pub media: &'static [Media],
    /// Whether the objects have a protobuf form, not only tables and metadata of them.
    pub plain_protobuf: bool,
    /// Whether tables and metadata are available.
    pub transforms: bool,
    /// Whether objects can be shown as rows of a table.
    pub(crate) tables: bool,
    /// Whether the response may be a stream of events.
    pub streams: bool,
    /// The header must name an encoding in full (or `*/*`) for the request to get anywhere. So it is for built-in kinds,
    /// whose paths are known to kube-apiserver's router with their encodings; custom resources only negotiate.
    pub routed: bool,
}

/// The encodings of built-in types.
pub(crate) const BUILT_IN: &[Media] = &[Media::Json, Media::Yaml, Media::Protobuf];
/// The encodings of types without a protobuf form.
pub(crate) const NO_PROTOBUF: &[Media] = &[Media::Json, Media::Yaml];

impl Media {
    /// Returns the media type.
    pub fn name(self) -> &'static str {
        match self {
            Media::Json => "application/json",
            Media::Yaml => "application/yaml",
            Media::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// Parses a `Content-Type` without parameters.
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

    /// Negotiates the form of the response.
    ///
    /// # Errors
    ///
    /// Fails with 406 if the endpoint offers nothing that the client accepts.
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
        if offer.routed {
            check_route(headers, offer.media, offer.streams)?;
        }
        for clause in &parse_accept(accept) {
            for media in offer.media.iter().filter(|m| clause.covers(**m)) {
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
        Err(status::not_acceptable(&names(offer.media)))
    }

    /// Returns the form of errors: the same encoding, not transformed; JSON if nothing fits.
    pub fn for_status(headers: &HeaderMap, query: &Query) -> Self {
        let offer = Offer {
            media: BUILT_IN,
            plain_protobuf: true,
            transforms: false,
            tables: false,
            streams: false,
            routed: false,
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

/// Returns the encoding of a request body.
///
/// # Errors
///
/// Fails with 415 if the endpoint does not read the encoding.
pub(crate) fn body_media(
    headers: &HeaderMap,
    supported: &'static [Media],
) -> Result<Media, Status> {
    let content_type = headers
        .get(http::header::CONTENT_TYPE)
        .and_then(|v| v.to_str().ok());
    let content_type = content_type.unwrap_or("");
    let (name, parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
    let name = name.trim().to_ascii_lowercase();
    if name.is_empty() {
        return Ok(supported[0]);
    }
    let well_formed = parameters
        .split(';')
        .map(str::trim)
        .all(|p| p.is_empty() || p.split_once('=').is_some_and(|(key, _)| !key.is_empty()));
    Media::from_name(&name)
        .filter(|media| well_formed && supported.contains(media))
        .ok_or_else(|| status::unsupported_media_type(&names(supported)))
}

/// Checks that the `Accept` header names one of these encodings in full, or `*/*`.
///
/// # Errors
///
/// The error is the 406 of kube-apiserver's router.
pub(crate) fn check_route(
    headers: &HeaderMap,
    media: &[Media],
    streams: bool,
) -> Result<(), Status> {
    let own = names(media);
    if is_named(headers, &own) {
        return Ok(());
    }
    let streams = media.iter().filter(|m| streams && **m != Media::Yaml);
    let all: Vec<String> = own
        .into_iter()
        .map(str::to_owned)
        .chain(streams.map(|m| format!("{};stream=watch", m.name())))
        .collect();
    Err(unnamed(&all.join(", ")))
}

/// Checks that a client accepts the only media type of a document.
pub(crate) fn check_document(headers: &HeaderMap, media: &str) -> Result<(), Status> {
    match is_named(headers, &[media]) {
        true => Ok(()),
        false => Err(unnamed(media)),
    }
}

/// Returns whether a client accepts one of the media types, by its name.
fn is_named(headers: &HeaderMap, media: &[&str]) -> bool {
    let accept = headers
        .get(http::header::ACCEPT)
        .and_then(|v| v.to_str().ok())
        .filter(|accept| !accept.is_empty())
        .unwrap_or("*/*");
    accept.split(',').any(|clause| {
        let name = clause.split(';').next().unwrap_or_default().trim();
        name == "*/*" || media.contains(&name)
    })
}

fn unnamed(all: &str) -> Status {
    let text = format!("406: Not Acceptable\n\nAvailable representations: {all}");
    Status::failure(406, "NotAcceptable", text).with_details(Default::default())
}

fn names(media: &[Media]) -> Vec<&'static str> {
    media.iter().map(|media| media.name()).collect()
}

/// Returns whether to indent: on request, and for browsers and curl.
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

    /// Returns the form that the clause requests, or `None` if the endpoint does not offer it.
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

/// Returns the clauses, best first.
fn parse_accept(accept: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = accept
        .split(',')
        .filter_map(|part| {
            let mut parts = part.split(';').map(str::trim);
            let (main, sub) = match parts.next()? {
                "*" => ("*", "*"),
                // What is no media type is passed over.
                media => media.split_once('/')?,
            };
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
        routed: true,
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
        for accept in ["application/foo", "application/*", "text/html", "foo"] {
            let refused = negotiate(accept).unwrap_err();
            assert_eq!(refused.code, 406);
            assert!(
                refused
                    .message
                    .starts_with("406: Not Acceptable\n\nAvailable representations: "),
                "{accept}"
            );
        }
    }

    #[test]
    fn custom_resources_only_negotiate() {
        let offer = Offer {
            routed: false,
            ..OFFER
        };
        let negotiate = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(http::header::ACCEPT, accept.parse().unwrap());
            Accepted::negotiate(&headers, &Query::default(), &offer)
        };
        assert_eq!(negotiate("application/*").unwrap().media, Media::Json);
        for accept in ["application/foo", "foo"] {
            assert_eq!(
                negotiate(accept).unwrap_err().message,
                "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
            );
        }
    }

    #[test]
    fn parameters_of_a_content_type_are_well_formed() {
        let media = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(http::header::CONTENT_TYPE, text.parse().unwrap());
            body_media(&headers, BUILT_IN)
        };
        for text in [
            "application/json",
            "application/json; charset=utf-8",
            "APPLICATION/JSON;",
        ] {
            assert_eq!(media(text).unwrap(), Media::Json, "{text}");
        }
        for text in ["application/json;foo", "application/json; =x", "foo"] {
            assert_eq!(media(text).unwrap_err().code, 415, "{text}");
        }
    }
}
