//! Recognizes `Accept` headers that ask for aggregated discovery.
//!
//! Other clauses are skipped, regardless of their position and weight: `application/json` beside an aggregated
//! clause does not win. Among aggregated clauses the weight decides, then the more specific type, then the order. The order of
//! parameters does not matter, and unknown parameters are ignored.

/// The encoding of an aggregated document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Kubernetes' protobuf.
    Protobuf,
}

/// The maximum number of clauses that are read; real clients send three or four.
const MOST_CLAUSES: usize = 32;

struct Clause<'a> {
    kind: &'a str,
    subtype: &'a str,
    weight: f32,
}

/// Returns the encoding in which the header asks for the aggregated document, or `None` if it does not.
pub(crate) fn aggregated_format(accept: &str) -> Option<Format> {
    let mut clauses: Vec<Clause<'_>> = accept
        .split(',')
        .filter_map(aggregated_clause)
        .take(MOST_CLAUSES)
        .collect();
    clauses.sort_by(|a, b| {
        let specific = |c: &Clause<'_>| (c.kind != "*", c.subtype != "*");
        b.weight
            .total_cmp(&a.weight)
            .then(specific(b).cmp(&specific(a)))
    });
    clauses.iter().find_map(Clause::format)
}

impl Format {
    /// Returns the content type of the response.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Format::Json => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            Format::Yaml => "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            Format::Protobuf => {
                "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            }
        }
    }
}

impl Clause<'_> {
    fn format(&self) -> Option<Format> {
        match (self.kind, self.subtype) {
            ("*", "*") | ("application", "*" | "json") => Some(Format::Json),
            ("application", "yaml") => Some(Format::Yaml),
            ("application", "vnd.kubernetes.protobuf") => Some(Format::Protobuf),
            _ => None,
        }
    }
}

/// Parses a clause that asks for the aggregated list in the served version.
fn aggregated_clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';').map(|part| part.trim_matches(' '));
    let media = parts.next()?;
    let (kind, subtype) = match media.split_once('/') {
        Some((kind, subtype)) => (kind.trim_matches(' '), subtype.trim_matches(' ')),
        None if media == "*" => ("*", "*"),
        None => return None,
    };
    let (mut group, mut version, mut name, mut weight) = ("", "", "", 1.0);
    for (key, value) in parts.filter_map(|part| part.split_once('=')) {
        let (key, value) = (key.trim_matches(' '), value.trim_matches(' '));
        match key {
            "g" => group = value,
            "v" => version = value,
            "as" => name = value,
            "q" => {
                weight = value
                    .parse::<f32>()
                    .ok()
                    .filter(|q| q.is_finite())
                    .unwrap_or(0.0)
            }
            // There is no other version of the group, and no stream.
            "sv" if !value.is_empty() => return None,
            "stream" if !value.is_empty() && value != "watch" => return None,
            _ => {}
        }
    }
    let asked = (group, version, name) == ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList");
    asked.then_some(Clause {
        kind,
        subtype,
        weight,
    })
}
