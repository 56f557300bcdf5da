//! The responses under `/openapi`: negotiation, entity tags and cache headers.
//!
//! Documents are JSON; the v2 document is also available as protobuf, which Go clients request. The protobuf form of v3, which
//! no known client requests, is answered with 406.

use std::io::Write;

use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use jiff::{Timestamp, ToSpan, tz::TimeZone};

use super::{
    MergedV2, OpenApi, address,
    kept::{Seal, unpacked},
    remote_parts,
};
use crate::{aggregation::GroupVersionInfo, body::Body, request::query::Query};

/// The maximum number of clauses of a header that are read.
const MOST_CLAUSES: usize = 64;

/// An encoding of documents.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    ProtobufV2,
}

impl OpenApi {
    /// Responds to a request below `/openapi`, or returns `None` if the path names no document.
    pub(crate) fn answer(
        &self,
        path: &str,
        headers: &HeaderMap,
        query: &Query,
        now: Timestamp,
    ) -> Option<Response<Body>> {
        match path.strip_prefix("/openapi/")? {
            "v2" => Some(self.answer_v2(&[], &MergedV2::default(), headers)),
            "v3" => Some(self.answer_index(&[])),
            rest => {
                let name = rest.strip_prefix("v3/")?;
                Some(self.answer_v3(name, headers, query, now))
            }
        }
    }

    /// Responds with the list of documents, those of other servers included.
    pub(crate) fn answer_index(&self, infos: &[GroupVersionInfo]) -> Response<Body> {
        let mut response = Response::new(Body::from(self.merged_index(infos)));
        let text = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, text);
        response
    }

    /// Responds with the v2 document, those of other servers included. `merged` caches that.
    pub(crate) fn answer_v2(
        &self,
        infos: &[GroupVersionInfo],
        merged: &MergedV2,
        headers: &HeaderMap,
    ) -> Response<Body> {
        let alone = remote_parts(infos).next().is_none();
        let (json, protobuf) = match alone {
            true => (&self.all, &self.all_protobuf),
            false => (&merged.json, &merged.protobuf),
        };
        let write = |out: &mut dyn Write| match alone {
            true => self.write_all(out),
            false => self.write_merged(infos, out),
        };
        let write_protobuf = |out: &mut dyn Write| match alone {
            true => self.write_protobuf(out),
            false => self.write_merged_protobuf(infos, out),
        };
        let mut response = match accepted(headers, &[Form::Json, Form::ProtobufV2]) {
            Some(Form::Json) => {
                let (seal, packed) = json.packed(write);
                document(headers, Form::Json, seal, packed)
            }
            Some(Form::ProtobufV2) => {
                // Both forms have the same tag.
                let tagged = json.seal(write);
                let (seal, packed) = protobuf.packed(write_protobuf);
                let seal = Seal {
                    hash: tagged.hash.clone(),
                    length: seal.length,
                };
                document(headers, Form::ProtobufV2, &seal, packed)
            }
            None => empty(StatusCode::NOT_ACCEPTABLE),
        };
        vary(response.headers_mut(), &["Accept-Encoding", "Accept"]);
        response
    }

    fn answer_v3(
        &self,
        name: &str,
        headers: &HeaderMap,
        query: &Query,
        now: Timestamp,
    ) -> Response<Body> {
        let Some((part, kept)) = self.documents.get(name) else {
            return empty(StatusCode::NOT_FOUND);
        };
        if accepted(headers, &[Form::Json]).is_none() {
            let mut response = empty(StatusCode::NOT_ACCEPTABLE);
            vary(response.headers_mut(), &["Accept"]);
            return response;
        }
        let wanted = query.first("hash").filter(|hash| !hash.is_empty());
        let (seal, packed) = kept.packed(|out| self.write(part, out));
        if wanted.is_some_and(|hash| hash != seal.hash) {
            let mut response = empty(StatusCode::MOVED_PERMANENTLY);
            let headers = response.headers_mut();
            insert(headers, header::LOCATION, &address(name, &seal.hash));
            insert(headers, header::ETAG, &tag(seal));
            insert(headers, header::CONTENT_TYPE, "application/json");
            vary(headers, &["Accept"]);
            return response;
        }
        let mut response = document(headers, Form::Json, seal, packed);
        let headers = response.headers_mut();
        vary(headers, &["Accept"]);
        if headers.contains_key(header::CONTENT_ENCODING) {
            vary(headers, &["Accept-Encoding"]);
        }
        if wanted.is_some() {
            insert(headers, header::CACHE_CONTROL, "public, immutable");
            if let Some(expires) = in_a_year(now) {
                insert(headers, header::EXPIRES, &expires);
            }
        }
        response
    }
}

impl Form {
    fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::ProtobufV2 => "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
        }
    }

    /// Returns whether a media type, perhaps with a wildcard, means this form. Protobuf has a deprecated spelling.
    fn is_called(self, media: &str) -> bool {
        let old = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
        media == self.content_type()
            || matches!(media, "*/*" | "*" | "application/*")
            || (self == Self::Json && media == "*/json")
            || (self == Self::ProtobufV2 && media == old)
    }
}

fn document(request: &HeaderMap, form: Form, seal: &Seal, packed: bytes::Bytes) -> Response<Body> {
    if is_known(request, &tag(seal)) {
        let mut response = empty(StatusCode::NOT_MODIFIED);
        insert(response.headers_mut(), header::ETAG, &tag(seal));
        return response;
    }
    let compressed = takes_gzip(request);
    let length = if compressed {
        packed.len()
    } else {
        seal.length
    };
    let body = if compressed {
        Body::from(packed)
    } else {
        unpacked(packed)
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    insert(headers, header::CONTENT_TYPE, form.content_type());
    insert(headers, header::ETAG, &tag(seal));
    insert(headers, header::CONTENT_LENGTH, &length.to_string());
    if compressed {
        insert(headers, header::CONTENT_ENCODING, "gzip");
    }
    response
}

fn empty(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = code;
    response
}

fn insert(headers: &mut HeaderMap, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn vary(headers: &mut HeaderMap, names: &[&'static str]) {
    for name in names {
        headers.append(header::VARY, HeaderValue::from_static(name));
    }
}

fn tag(seal: &Seal) -> String {
    format!("\"{}\"", seal.hash)
}

/// Returns whether the client has this document already.
fn is_known(request: &HeaderMap, tag: &str) -> bool {
    clauses(request, header::IF_NONE_MATCH).any(|clause| {
        let clause = clause.strip_prefix("W/").unwrap_or(clause);
        clause == tag || clause == "*"
    })
}

/// Returns the offered form that the client prefers; the first if it has no preference.
fn accepted(request: &HeaderMap, offered: &[Form]) -> Option<Form> {
    let mut asked: Vec<(f32, &str)> = clauses(request, header::ACCEPT).map(weighted).collect();
    if asked.is_empty() {
        return offered.first().copied();
    }
    asked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    asked.iter().find_map(|(_, media)| {
        let fits = |form: &&Form| form.is_called(media);
        offered.iter().find(fits).copied()
    })
}

/// Parses a clause into its weight and its media type.
fn weighted(clause: &str) -> (f32, &str) {
    let (media, parameters) = clause.split_once(';').unwrap_or((clause, ""));
    let weight = parameters
        .split(';')
        .find_map(|parameter| parameter.trim().strip_prefix("q="))
        .map_or(1.0, |weight| weight.trim().parse().unwrap_or(0.0));
    (weight, media.trim())
}

fn takes_gzip(request: &HeaderMap) -> bool {
    clauses(request, header::ACCEPT_ENCODING).any(|clause| {
        let (weight, coding) = weighted(clause);
        matches!(coding, "gzip" | "*") && weight > 0.0
    })
}

fn clauses(request: &HeaderMap, name: header::HeaderName) -> impl Iterator<Item = &str> {
    let values = request.get_all(name).into_iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|clause| !clause.is_empty())
        .take(MOST_CLAUSES)
}

fn in_a_year(now: Timestamp) -> Option<String> {
    let then = now.to_zoned(TimeZone::UTC).checked_add(1.year()).ok()?;
    Some(then.strftime("%a, %d %b %Y %H:%M:%S UTC").to_string())
}
