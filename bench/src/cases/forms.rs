//! The representations of a list: media types, names, and the targets of each.

use super::servers::PEER;
use crate::{
    endpoint::Endpoint,
    requests::{JSON, PROTOBUF, Parts, Template},
    rows::Row,
    wire::Protocol,
};

/// A representation of a list.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub(super) key: &'static str,
    pub(super) label: &'static str,
    accept: &'static str,
    query: &'static str,
    /// The lowest rate in MB/s.
    least: Option<f64>,
    /// The factor to the peer's rate.
    times: Option<f64>,
}

/// All representations.
pub(super) const FORMS: [Form; 7] = [
    Form {
        key: "json",
        label: "JSON",
        accept: JSON,
        query: "",
        least: Some(800.0),
        times: Some(10.0),
    },
    Form {
        key: "protobuf",
        label: "protobuf",
        accept: PROTOBUF,
        query: "",
        least: Some(300.0),
        times: Some(6.0),
    },
    Form {
        key: "table",
        label: "Table",
        accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
        query: "",
        least: None,
        times: Some(5.0),
    },
    Form {
        key: "metadata",
        label: "metadata in JSON",
        accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        query: "",
        least: None,
        times: Some(6.0),
    },
    Form {
        key: "metadata_protobuf",
        label: "metadata in protobuf",
        accept: "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        query: "",
        least: None,
        times: Some(6.0),
    },
    Form {
        key: "pretty",
        label: "indented JSON",
        accept: JSON,
        query: "pretty=true",
        least: None,
        times: Some(5.0),
    },
    Form {
        key: "yaml",
        label: "YAML",
        accept: "application/yaml",
        query: "",
        least: None,
        times: None,
    },
];

/// The protocols, with the suffix of keys and labels.
pub(super) const PROTOCOLS: [(Protocol, &str, &str); 2] = [
    (Protocol::Http1, "", ""),
    (Protocol::Http2, "_http2", ", HTTP/2"),
];

impl Form {
    /// Returns the request for a list.
    pub(super) fn request(self, endpoint: &Endpoint, protocol: Protocol, path: &str) -> Template {
        let join = if path.contains('?') { '&' } else { '?' };
        let target = match self.query {
            "" => path.to_owned(),
            query => format!("{path}{join}{query}"),
        };
        let parts = Parts {
            protocol,
            accept: self.accept,
            ..Parts::new("GET", &target, b"")
        };
        Template::of(endpoint, parts)
    }

    /// Adds the targets of a whole list to the row of its rate.
    pub(super) fn targets(self, row: Row) -> Row {
        let row = self.least.into_iter().fold(row, Row::at_least);
        let better = |row: Row, times| row.better(times, PEER);
        self.times.into_iter().fold(row, better)
    }
}
