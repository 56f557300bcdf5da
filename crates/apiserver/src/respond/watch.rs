//! Watch responses: events, one JSON document a line, until the timeout.

use std::{sync::Arc, time::Duration};

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use http::Response;
use kubewright_machinery::Status;
use kubewright_schema::normalize_typed;
use kubewright_serve::OpenEnded;
use serde_json::{Value, json};

use super::{
    encode::response,
    negotiate::{Accepted, Media, Transform},
    object::partial_json,
    table::{self, Include},
};
use crate::{
    body::Body,
    object::{Object, stored_value},
    registry::{Resource, Shape, WatchEvent, WatchStream},
    request::RequestContext,
};

/// Returns a stream of events that ends after `timeout`.
pub(crate) fn watch_response(
    cx: &RequestContext,
    accepted: &Accepted,
    resource: &Arc<Resource>,
    events: WatchStream,
    timeout: Duration,
) -> Result<Response<Body>, Status> {
    if accepted.media == Media::Yaml {
        let offered =
            "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
        let text = format!("only the following media types are accepted: {offered}");
        return Err(Status::failure(406, "NotAcceptable", text));
    }
    let include = match accepted.transform {
        Transform::Table(_) => Include::parse(cx)?,
        _ => Include::None,
    };
    let mut writer = EventWriter {
        resource: resource.clone(),
        transform: accepted.transform,
        include,
        first: true,
        protobuf: accepted.media == Media::Protobuf,
    };
    let content_type = match accepted.media {
        Media::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        Media::Json | Media::Yaml => Media::Json.name(),
    };
    let deadline = tokio::time::sleep(timeout);
    let frames = events.take_until(deadline).map(move |batch| {
        let mut out = BytesMut::with_capacity(512 * batch.len());
        for event in &batch {
            writer.write(&mut out, event);
        }
        Ok(out.freeze())
    });
    // Send the headers at once, so that the client knows that the watch has started.
    let begin = stream::iter([Ok(Bytes::new())]);
    let mut response = response(200, content_type, Body::stream(begin.chain(frames)));
    // A server that shuts down ends the watch between two events.
    response.extensions_mut().insert(OpenEnded);
    Ok(response)
}

struct EventWriter {
    resource: Arc<Resource>,
    transform: Transform,
    include: Include,
    /// Only the first table has column definitions.
    first: bool,
    protobuf: bool,
}

impl EventWriter {
    fn write(&mut self, out: &mut BytesMut, event: &WatchEvent) {
        let (kind, object) = match event {
            WatchEvent::Added(object) => ("ADDED", object),
            WatchEvent::Modified(object) => ("MODIFIED", object),
            WatchEvent::Deleted(object) => ("DELETED", object),
            WatchEvent::Bookmark(revision, last) => {
                let bookmark = self.bookmark(revision, *last).to_string();
                return self.frame(out, "BOOKMARK", bookmark.as_bytes());
            }
            WatchEvent::Error(status) => return self.frame(out, "ERROR", &status.to_json()),
        };
        match self.transform {
            Transform::None => self.frame(out, kind, &object.bytes),
            Transform::Partial(version) | Transform::PartialList(version) => {
                self.frame(out, kind, partial_json(object, version).as_bytes());
            }
            Transform::Table(version) => {
                let table = self.table(object, version);
                self.frame(out, kind, table.to_string().as_bytes());
            }
        }
    }

    fn frame(&self, out: &mut BytesMut, kind: &str, object: &[u8]) {
        if !self.protobuf {
            return json_frame(out, kind, object);
        }
        let value = stored_value(object);
        match kubewright_protobuf::encode_watch_event(kind, &value) {
            Ok(frame) => out.put_slice(&frame),
            Err(error) => tracing::error!("an event has no protobuf form: {error}"),
        }
    }

    fn table(&mut self, object: &Object, version: &str) -> Value {
        let value = stored_value(&object.bytes);
        let revision = &value["metadata"]["resourceVersion"];
        let mut table = json!({
            "kind": "Table",
            "apiVersion": format!("meta.k8s.io/{version}"),
            "metadata": {"resourceVersion": revision},
            "columnDefinitions": null,
        });
        if std::mem::take(&mut self.first) {
            table["columnDefinitions"] = self.resource.table.columns();
        }
        table["rows"] = json!([table::row(
            &*self.resource.table,
            value,
            self.include,
            version
        )]);
        table
    }

    /// Returns an object with a resourceVersion only, and the annotation that ends the initial events.
    fn bookmark(&mut self, revision: &str, last: bool) -> Value {
        let mut metadata = json!({"resourceVersion": revision});
        if last {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let kind = &self.resource.spec.kind;
        match self.transform {
            Transform::None => {
                let object = json!({
                    "kind": kind.kind,
                    "apiVersion": kind.api_version(),
                    "metadata": metadata,
                });
                match self.resource.spec.shape {
                    Shape::Typed(ty) => normalize_typed(object.clone(), ty).unwrap_or(object),
                    Shape::Untyped => object,
                }
            }
            Transform::Partial(version) | Transform::PartialList(version) => json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": format!("meta.k8s.io/{version}"),
                "metadata": metadata,
            }),
            Transform::Table(version) => {
                let row = json!({
                    "kind": kind.kind, "apiVersion": kind.api_version(), "metadata": metadata,
                });
                let object = table::row(&*self.resource.table, row, self.include, version);
                let mut table = json!({
                    "kind": "Table",
                    "apiVersion": format!("meta.k8s.io/{version}"),
                    "metadata": {"resourceVersion": revision},
                    "columnDefinitions": null,
                    "rows": [object],
                });
                if std::mem::take(&mut self.first) {
                    table["columnDefinitions"] = self.resource.table.columns();
                }
                table
            }
        }
    }
}

fn json_frame(out: &mut BytesMut, kind: &str, object: &[u8]) {
    out.put_slice(b"{\"type\":\"");
    out.put_slice(kind.as_bytes());
    out.put_slice(b"\",\"object\":");
    out.put_slice(object);
    out.put_slice(b"}\n");
}
