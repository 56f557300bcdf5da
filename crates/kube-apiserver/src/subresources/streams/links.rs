//! [`Links`]: leads the absolute links of pages behind a proxy through that proxy.

use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderValue, Response, header};
use kubewright_apiserver::Body;

/// The attributes that are links, by element.
const LINKS: [(&str, &[&str]); 25] = [
    ("a", &["href"]),
    ("applet", &["codebase"]),
    ("area", &["href"]),
    ("audio", &["src"]),
    ("base", &["href"]),
    ("blockquote", &["cite"]),
    ("body", &["background"]),
    ("button", &["formaction"]),
    ("command", &["icon"]),
    ("del", &["cite"]),
    ("embed", &["src"]),
    ("form", &["action"]),
    ("frame", &["longdesc", "src"]),
    ("head", &["profile"]),
    ("html", &["manifest"]),
    ("iframe", &["longdesc", "src"]),
    ("img", &["longdesc", "src", "usemap"]),
    ("input", &["src", "usemap", "formaction"]),
    ("ins", &["cite"]),
    ("link", &["href"]),
    ("object", &["classid", "codebase", "data", "usemap"]),
    ("q", &["cite"]),
    ("script", &["src"]),
    ("source", &["src"]),
    ("video", &["poster", "src"]),
];

/// The longest name or link that is looked at, in bytes. Longer ones are passed on as they are.
const LONGEST: usize = 8 << 10;

/// The location of a page: where the proxy shows it, and the hosts that stand for its server.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The path of the proxy, without a slash at the end.
    pub(super) prefix: String,
    /// The host that the proxy has asked.
    pub(super) host: String,
    /// The host that the client has asked.
    pub(super) requested: String,
}

/// Rewrites the links of a page, part by part.
struct Links {
    place: Place,
    state: State,
    /// The element whose start is being read.
    element: String,
    attribute: String,
    value: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text,
    /// After `<`.
    Open,
    Element,
    Inside,
    Attribute,
    AfterAttribute,
    BeforeValue,
    /// A value up to a quotation mark, or without one up to the next space.
    Value(Option<u8>),
    /// The rest of a value that is too long for a link.
    Rest(Option<u8>),
}

/// Leads a response through the proxy: its redirect, or the links of its page.
pub(super) fn lead_through(mut response: Response<Body>, place: Place) -> Response<Body> {
    let headers = response.headers_mut();
    if let Some(location) = headers.get(header::LOCATION) {
        let to = location.to_str().map(|location| place.rewritten(location));
        if let Ok(Ok(to)) = to.map(|to| HeaderValue::from_str(&to)) {
            headers.insert(header::LOCATION, to);
        }
        return response;
    }
    let kind = headers.get(header::CONTENT_TYPE);
    let is_page = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    // Compressed pages are passed on as they are.
    if !is_page || headers.contains_key(header::CONTENT_ENCODING) {
        return response;
    }
    headers.remove(header::CONTENT_LENGTH);
    response.map(|body| {
        let mut links = Links::new(place);
        let parts = http_body_util::BodyStream::new(body);
        let rewritten = parts.filter_map(move |frame| {
            let part = match frame.map(http_body::Frame::into_data) {
                Ok(Ok(bytes)) => Some(Ok(Bytes::from(links.rewrite(&bytes)))),
                // Trailers are left out.
                Ok(Err(_)) => None,
                Err(error) => Some(Err(error)),
            };
            async move { part }
        });
        Body::stream(rewritten)
    })
}

impl Place {
    /// Returns where a link leads through the proxy. Links to other hosts and relative ones stay as they are.
    fn rewritten(&self, link: &str) -> String {
        let (scheme, rest) = match link.split_once("://") {
            Some((scheme, rest)) if !scheme.contains(['/', '?', '#']) => (Some(scheme), rest),
            _ => (None, link),
        };
        let rest = match scheme {
            Some(_) => Some(rest),
            None => link.strip_prefix("//"),
        };
        let Some(rest) = rest else {
            return match link.starts_with('/') && !link.starts_with(&self.prefix) {
                true => format!("{}{link}", self.prefix),
                false => link.to_owned(),
            };
        };
        let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let is_own = host == self.host;
        if !path.starts_with('/') || !is_own && host != self.requested {
            return link.to_owned();
        }
        let path = match path.starts_with(&self.prefix) {
            true => path.to_owned(),
            false => format!("{}{path}", self.prefix),
        };
        match (is_own, scheme) {
            (true, _) => path,
            (false, Some(scheme)) => format!("{scheme}://{host}{path}"),
            (false, None) => format!("//{host}{path}"),
        }
    }
}

impl Links {
    fn new(place: Place) -> Self {
        Self {
            place,
            state: State::Text,
            element: String::new(),
            attribute: String::new(),
            value: Vec::new(),
        }
    }

    /// Rewrites the next part of a page. A link at its end comes with the part that completes it.
    fn rewrite(&mut self, part: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(part.len() + part.len() / 8);
        for byte in part {
            self.step(*byte, &mut out);
        }
        out
    }

    fn step(&mut self, byte: u8, out: &mut Vec<u8>) {
        let is_space = byte.is_ascii_whitespace();
        self.state = match self.state {
            State::Value(quote) => {
                let ends = match quote {
                    Some(quote) => byte == quote,
                    None => is_space || byte == b'>',
                };
                if !ends && self.value.len() < LONGEST {
                    self.value.push(byte);
                    return;
                }
                self.end_value(out);
                match (ends, byte) {
                    (true, b'>') => State::Text,
                    (true, _) => State::Inside,
                    (false, _) => State::Rest(quote),
                }
            }
            State::Rest(quote) => match quote {
                Some(quote) if byte == quote => State::Inside,
                None if is_space => State::Inside,
                None if byte == b'>' => State::Text,
                _ => State::Rest(quote),
            },
            State::Text if byte == b'<' => State::Open,
            State::Text => State::Text,
            State::Open if byte.is_ascii_alphabetic() => {
                self.element.clear();
                self.element.push(byte.to_ascii_lowercase().into());
                State::Element
            }
            State::Open => State::Text,
            State::Element if byte == b'>' => State::Text,
            State::Element if is_space || byte == b'/' => State::Inside,
            State::Element => {
                remember(&mut self.element, byte);
                State::Element
            }
            State::Inside | State::AfterAttribute | State::Attribute if byte == b'>' => State::Text,
            State::Attribute | State::AfterAttribute if byte == b'=' => State::BeforeValue,
            State::Attribute if is_space => State::AfterAttribute,
            State::AfterAttribute if is_space => State::AfterAttribute,
            State::Inside | State::AfterAttribute if !is_space && byte != b'/' => {
                self.attribute.clear();
                remember(&mut self.attribute, byte);
                State::Attribute
            }
            State::Attribute => {
                remember(&mut self.attribute, byte);
                State::Attribute
            }
            State::Inside | State::AfterAttribute => State::Inside,
            State::BeforeValue if is_space => State::BeforeValue,
            State::BeforeValue if byte == b'"' || byte == b'\'' => State::Value(Some(byte)),
            State::BeforeValue if byte == b'>' => State::Text,
            State::BeforeValue => {
                self.value.push(byte);
                self.state = State::Value(None);
                return;
            }
        };
        out.push(byte);
    }

    /// Writes the value that has been read, rewritten if it is a link.
    fn end_value(&mut self, out: &mut Vec<u8>) {
        let mut names = LINKS.iter().filter(|(element, _)| *element == self.element);
        let is_link = names.any(|(_, names)| names.contains(&self.attribute.as_str()));
        match std::str::from_utf8(&self.value) {
            Ok(link) if is_link => out.extend_from_slice(self.place.rewritten(link).as_bytes()),
            _ => out.extend_from_slice(&self.value),
        }
        self.value.clear();
    }
}

fn remember(name: &mut String, byte: u8) {
    if name.len() < LONGEST {
        name.push(byte.to_ascii_lowercase().into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place {
            prefix: "/api/v1/namespaces/a/pods/p/proxy".to_owned(),
            host: "10.244.0.5:80".to_owned(),
            requested: "localhost:8001".to_owned(),
        }
    }

    #[test]
    fn absolute_links_to_the_server_lead_through_the_proxy() {
        let prefix = place().prefix;
        for (link, expected) in [
            ("/a?b=c", format!("{prefix}/a?b=c")),
            ("http://10.244.0.5:80/a", format!("{prefix}/a")),
            ("//10.244.0.5:80/a", format!("{prefix}/a")),
            (
                "http://localhost:8001/a",
                format!("http://localhost:8001{prefix}/a"),
            ),
            ("a/b", "a/b".to_owned()),
            ("#top", "#top".to_owned()),
            ("http://example.com/a", "http://example.com/a".to_owned()),
            ("mailto:a@example.com", "mailto:a@example.com".to_owned()),
        ] {
            assert_eq!(place().rewritten(link), expected, "{link}");
        }
        let through = format!("{prefix}/a");
        assert_eq!(place().rewritten(&through), through);
    }

    #[test]
    fn links_of_pages_are_rewritten_wherever_the_parts_end() {
        let page = "<!DOCTYPE html><p title=\"/x\">1 < 2<a class=x HREF='/a'>a</a><img src=/b><a href = \"/c\" >c</a>\
                    <a href>d</a><input disabled src=\"e\"/></p>";
        let prefix = place().prefix;
        let expected = page
            .replace("'/a'", &format!("'{prefix}/a'"))
            .replace("src=/b", &format!("src={prefix}/b"))
            .replace("\"/c\"", &format!("\"{prefix}/c\""));
        for size in 1..page.len() {
            let mut links = Links::new(place());
            let parts = page.as_bytes().chunks(size);
            let out: Vec<u8> = parts.flat_map(|part| links.rewrite(part)).collect();
            assert_eq!(String::from_utf8(out).unwrap(), expected, "parts of {size}");
        }
    }

    #[test]
    fn endless_values_are_not_kept() {
        let mut links = Links::new(place());
        links.rewrite(b"<a href=\"/");
        for _ in 0..100 {
            links.rewrite(&[b'/'; 1024]);
            assert!(links.value.len() <= LONGEST);
        }
        let after = links.rewrite(b"\"><a href=\"/a\">");
        let expected = format!("\"><a href=\"{}/a\">", place().prefix);
        assert_eq!(String::from_utf8(after).unwrap(), expected);
    }
}
