//! Watch responses: events, one JSON document a line, until the timeout.

use std::{pin::Pin, sync::Arc, time::Duration};

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use http::Response;
use kubewright_machinery::{Status, status};
use kubewright_protobuf::{EncodeError, ObjectType, Transcoder, encode_watch_event};
use kubewright_schema::{encode, normalize_typed};
use kubewright_serve::OpenEnded;
use serde_json::{Value, json};

use super::{
    encode::response,
    frames::FrameKey,
    negotiate::{Accepted, Media, Transform},
    object::write_partial,
    table::{Columns, Include, Rows},
};
use crate::{
    body::Body,
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
    let content_type = match accepted.media {
        Media::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        Media::Json | Media::Yaml => Media::Json.name(),
    };
    let frames = Frames {
        writer: EventWriter::new(accepted, resource, include)?,
        events: Box::pin(events.take_until(tokio::time::sleep(timeout))),
        batch: Vec::new().into_iter(),
        pending: None,
    };
    let frames = stream::unfold(frames, |mut frames| async move {
        let chunk = frames.next().await?;
        Some((Ok(chunk), frames))
    });
    // Send the headers at once, so that the client knows that the watch has started.
    let begin = stream::iter([Ok(Bytes::new())]);
    let mut response = response(200, content_type, Body::stream(begin.chain(frames)));
    // A server that shuts down ends the watch between two events.
    response.extensions_mut().insert(OpenEnded);
    Ok(response)
}

/// The number of bytes of several frames that are sent together, which bounds the memory of a watcher that does not read. A
/// larger frame is sent alone; watchers share it.
const CHUNK: usize = 16 * 1024;

/// The frames of a watch.
struct Frames {
    writer: EventWriter,
    events: Pin<Box<dyn Stream<Item = Vec<WatchEvent>> + Send>>,
    /// The events that are not encoded yet.
    batch: std::vec::IntoIter<WatchEvent>,
    /// A frame that did not fit into the last chunk.
    pending: Option<Bytes>,
}

impl Frames {
    /// Returns the next frames.
    async fn next(&mut self) -> Option<Bytes> {
        let first = loop {
            match self.ready() {
                Some(frame) => break frame,
                None => self.batch = self.events.next().await?.into_iter(),
            }
        };
        if self.batch.len() == 0 || first.len() >= CHUNK {
            return Some(first);
        }
        let mut chunk = BytesMut::with_capacity(CHUNK.min(first.len() * (self.batch.len() + 1)));
        chunk.put_slice(&first);
        while let Some(frame) = self.ready() {
            if chunk.len() + frame.len() > CHUNK {
                self.pending = Some(frame);
                break;
            }
            chunk.put_slice(&frame);
        }
        Some(chunk.freeze())
    }

    /// Returns the frame of the next event of the batch.
    fn ready(&mut self) -> Option<Bytes> {
        let pending = self.pending.take();
        pending.or_else(|| {
            let writer = &mut self.writer;
            self.batch.find_map(|event| writer.frame(&event))
        })
    }
}

/// Encodes events.
struct EventWriter {
    resource: Arc<Resource>,
    key: FrameKey,
    encoder: Encoder,
    /// Only the first table has column definitions.
    first: bool,
}

enum Encoder {
    Objects,
    Partial(&'static str),
    Table(Rows),
    Protobuf(ObjectType),
}

impl EventWriter {
    fn new(
        accepted: &Accepted,
        resource: &Arc<Resource>,
        include: Include,
    ) -> Result<Self, Status> {
        let kind = &resource.spec.kind;
        let encoder = match (accepted.media, accepted.transform) {
            (_, Transform::Table(version)) => {
                Encoder::Table(Rows::new(resource.table.clone(), include, version))
            }
            (Media::Protobuf, Transform::None) => {
                match resource.custom.as_ref().and_then(|c| c.protobuf()) {
                    Some(declared) => Encoder::Protobuf(declared.object().clone()),
                    None => Encoder::protobuf(&kind.api_version(), &kind.kind)?,
                }
            }
            (Media::Protobuf, Transform::Partial(version) | Transform::PartialList(version)) => {
                Encoder::protobuf(&format!("meta.k8s.io/{version}"), "PartialObjectMetadata")?
            }
            (_, Transform::None) => Encoder::Objects,
            (_, Transform::Partial(version) | Transform::PartialList(version)) => {
                Encoder::Partial(version)
            }
        };
        Ok(Self {
            resource: resource.clone(),
            key: FrameKey {
                event: "",
                media: accepted.media,
                transform: accepted.transform,
                include,
            },
            encoder,
            first: true,
        })
    }

    /// Returns the frame of an event, or `None` if it has none, which is logged.
    fn frame(&mut self, event: &WatchEvent) -> Option<Bytes> {
        let (event, object) = match event {
            WatchEvent::Added(object) => ("ADDED", object),
            WatchEvent::Modified(object) => ("MODIFIED", object),
            WatchEvent::Deleted(object) => ("DELETED", object),
            WatchEvent::Bookmark(revision, last) => {
                let bookmark = encode(&self.bookmark(revision, *last));
                let columns = self.columns();
                return self.encoder.encode("BOOKMARK", &bookmark, columns);
            }
            WatchEvent::Error(status) => return self.encoder.encode_error(status),
        };
        if self.columns() == Columns::Defined {
            return self.encoder.encode(event, &object.bytes, Columns::Defined);
        }
        let key = FrameKey { event, ..self.key };
        let encoder = &self.encoder;
        self.resource.frames.get_or(key, &object.bytes, || {
            encoder.encode(event, &object.bytes, Columns::Null)
        })
    }

    /// Returns whether the next table has column definitions: only the first one has.
    fn columns(&mut self) -> Columns {
        let is_table = matches!(self.encoder, Encoder::Table(_));
        match std::mem::take(&mut self.first) && is_table {
            true => Columns::Defined,
            false => Columns::Null,
        }
    }

    /// Returns an object with a resourceVersion only, and the annotation that ends the initial events.
    fn bookmark(&self, revision: &str, last: bool) -> Value {
        let mut metadata = json!({"resourceVersion": revision});
        if last {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let kind = &self.resource.spec.kind;
        let object = json!({
            "kind": kind.kind,
            "apiVersion": kind.api_version(),
            "metadata": metadata,
        });
        match (self.key.transform, self.resource.spec.shape) {
            (Transform::None, Shape::Typed(ty)) => {
                normalize_typed(object.clone(), ty).unwrap_or(object)
            }
            _ => object,
        }
    }
}

impl Encoder {
    fn protobuf(api_version: &str, kind: &str) -> Result<Self, Status> {
        let ty = ObjectType::of(api_version, kind).map_err(status::internal)?;
        Ok(Self::Protobuf(ty))
    }

    fn encode(&self, event: &str, object: &[u8], columns: Columns) -> Option<Bytes> {
        let mut out = Vec::with_capacity(object.len() + 64);
        match self {
            Self::Protobuf(ty) => {
                // Its buffers are not kept: there are many watchers, and one of them encodes an event.
                let framed = Transcoder::new().watch_event(event, ty, object, &mut out);
                return encoded(framed.map(|()| out));
            }
            Self::Objects => {
                start_frame(&mut out, event);
                out.extend_from_slice(object);
            }
            Self::Partial(version) => {
                start_frame(&mut out, event);
                write_partial(&mut out, object, version);
            }
            Self::Table(rows) => {
                start_frame(&mut out, event);
                rows.write_table(&mut out, object, columns);
            }
        }
        Some(end_frame(out))
    }

    /// Returns the frame of an error, which is a `Status` in every form.
    fn encode_error(&self, status: &Status) -> Option<Bytes> {
        if let Self::Protobuf(..) = self {
            let status = serde_json::to_value(status).unwrap_or_default();
            return encoded(encode_watch_event("ERROR", &status));
        }
        let mut out = Vec::with_capacity(256);
        start_frame(&mut out, "ERROR");
        out.extend_from_slice(&status.to_json());
        Some(end_frame(out))
    }
}

fn start_frame(out: &mut Vec<u8>, event: &str) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(event.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
}

fn end_frame(mut out: Vec<u8>) -> Bytes {
    out.extend_from_slice(b"}\n");
    out.into()
}

fn encoded(frame: Result<Vec<u8>, EncodeError>) -> Option<Bytes> {
    match frame {
        Ok(frame) => Some(frame.into()),
        Err(error) => {
            tracing::error!(%error, "an event has no protobuf form");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Method;
    use http_body_util::BodyExt;
    use kubewright_machinery::gvk::GroupVersionKind;

    use super::*;
    use crate::{
        admission::AdmissionChain,
        auth::AlwaysAllow,
        object::Object,
        registry::{Handlers, ResourceSpec},
        request::{Annotations, Query, RequestInfo, UserInfo, Warnings},
    };

    fn watch(batch: Vec<WatchEvent>) -> Body {
        let kind = GroupVersionKind::new("sky.example.com", "v1", "Comet");
        let spec = ResourceSpec::new(kind, "comets");
        let resource = Arc::new(Resource::computed(spec, Handlers::default()));
        watch_of(&resource, batch)
    }

    fn watch_of(resource: &Arc<Resource>, batch: Vec<WatchEvent>) -> Body {
        let query = Query::default();
        let cx = RequestContext {
            info: Arc::new(RequestInfo::new(&Method::GET, "/", &query)),
            query: Arc::new(query),
            user: Arc::new(UserInfo::default()),
            user_agent: "".into(),
            warnings: Warnings::default(),
            resource: resource.clone(),
            admission: AdmissionChain::default(),
            authorizer: Arc::new(AlwaysAllow),
            annotations: Annotations::default(),
            deadline: None,
        };
        let events = Box::pin(stream::iter([batch]).chain(stream::pending()));
        let timeout = Duration::from_secs(60);
        watch_response(&cx, &Accepted::JSON, resource, events, timeout)
            .expect("a watch")
            .into_body()
    }

    async fn chunk(body: &mut Body) -> Bytes {
        let frame = body.frame().await.expect("a frame").expect("no error");
        frame.into_data().expect("data")
    }

    fn comet(size: usize) -> Object {
        Object::from_value(&json!({"metadata": {"name": "halley"}, "tail": "x".repeat(size)}))
    }

    #[tokio::test(start_paused = true)]
    async fn a_chunk_is_small_however_many_events_are_waiting() {
        let sizes = [1000; 2000].into_iter().chain([100_000, 10, 10]);
        let mut body = watch(sizes.map(|size| WatchEvent::Added(comet(size))).collect());
        assert_eq!(chunk(&mut body).await, "");
        let mut events = 0;
        while events < 2003 {
            let chunk = chunk(&mut body).await;
            let frames = chunk.iter().filter(|b| **b == b'\n').count();
            assert!(chunk.len() <= CHUNK || frames == 1, "{} bytes", chunk.len());
            assert!(chunk.ends_with(b"}\n"));
            events += frames;
        }
        assert_eq!(events, 2003);
    }

    #[tokio::test(start_paused = true)]
    async fn watchers_share_the_frame_of_an_event() {
        let kind = GroupVersionKind::new("sky.example.com", "v1", "Comet");
        let spec = ResourceSpec::new(kind, "comets");
        let resource = Arc::new(Resource::computed(spec, Handlers::default()));
        let event = WatchEvent::Modified(comet(100));
        let mut frames = Vec::new();
        for _ in 0..3 {
            let mut body = watch_of(&resource, vec![event.clone()]);
            assert_eq!(chunk(&mut body).await, "");
            frames.push(chunk(&mut body).await);
        }
        assert!(frames[0].starts_with(b"{\"type\":\"MODIFIED\",\"object\":{"));
        assert!(
            frames
                .iter()
                .all(|frame| frame.as_ptr() == frames[0].as_ptr())
        );
    }
}
