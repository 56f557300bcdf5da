//! List responses: spliced from stored bytes, and sent while they are read.

use std::pin::Pin;

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use http::Response;
use kubewright_machinery::Status;
use serde_json::{Value, json};

use super::{
    encode::{response, status_response, value_response},
    negotiate::{Accepted, Media, Transform},
    object::{go_package, not_acceptable, partial_json},
    table::{self, Include},
};
use crate::{
    body::{Body, BoxError},
    object::Object,
    registry::{Items, ObjectList, Resource},
    request::RequestContext,
};

/// Returns a list in the requested form.
pub(crate) async fn list_response(
    cx: &RequestContext,
    accepted: &Accepted,
    resource: &Resource,
    list: ObjectList,
) -> Response<Body> {
    match list_body(cx, accepted, resource, list).await {
        Ok(response) => response,
        Err(error) => status_response(
            &Accepted {
                pretty: error.code == 406,
                ..*accepted
            },
            &error,
        ),
    }
}

async fn list_body(
    cx: &RequestContext,
    accepted: &Accepted,
    resource: &Resource,
    list: ObjectList,
) -> Result<Response<Body>, Status> {
    let form = match accepted.transform {
        Transform::None => Form::Objects,
        Transform::Table(version) => {
            return table_body(cx, accepted, resource, list, version).await;
        }
        Transform::PartialList(version) => Form::Partial(version),
        Transform::Partial(_) => {
            let list = match resource.custom {
                Some(_) => "unstructured.UnstructuredList".to_owned(),
                None => {
                    let package = go_package(&resource.spec.group_version.group);
                    format!("{package}.{}List", resource.spec.kind.kind)
                }
            };
            return Err(not_acceptable(format!(
                "you requested PartialObjectMetadata, but the requested object is a list (*{list})"
            )));
        }
    };
    let writer = ItemWriter::new(resource, form);
    let head = writer.head(&list);
    if accepted.media == Media::Json && !accepted.pretty {
        return Ok(response(
            200,
            Media::Json.name(),
            json_body(writer, head, list.items),
        ));
    }
    // Other encodings need the whole list.
    let objects = list.items.collect().await?;
    let mut json = head;
    writer.items(&mut json, &objects, true);
    json.put_slice(b"]}");
    let value: Value =
        serde_json::from_slice(&json).map_err(kubewright_machinery::status::internal)?;
    Ok(value_response(200, accepted, &value))
}

fn json_body(writer: ItemWriter, mut head: BytesMut, items: Items) -> Body {
    match items {
        Items::All(objects) => {
            writer.items(&mut head, &objects, true);
            head.put_slice(b"]}");
            head.freeze().into()
        }
        Items::Pages(pages) => {
            let head = stream::iter([Ok::<Bytes, BoxError>(head.freeze())]);
            let chunks = Chunks {
                writer,
                // The stream of pages ends once.
                pages: Box::pin(pages.fuse()),
                page: Vec::new().into_iter(),
                first: true,
                unsent: 0,
            };
            let items = stream::unfold(Some(chunks), |chunks| async move {
                let mut chunks = chunks?;
                match chunks.next().await? {
                    Ok(chunk) => Some((Ok(chunk), Some(chunks))),
                    Err(e) => Some((Err(e), None)),
                }
            });
            let tail = stream::iter([Ok(Bytes::from_static(b"]}"))]);
            Body::stream(head.chain(items).chain(tail))
        }
    }
}

/// The number of bytes that are copied together.
const CHUNK: usize = 64 * 1024;

/// The number of bytes that the connection gets at once, which bounds the memory of a list.
const UNSENT: usize = 6 * CHUNK;

/// Streams the items of a list in chunks.
struct Chunks {
    writer: ItemWriter,
    pages: Pin<Box<dyn Stream<Item = Result<Vec<Object>, Status>> + Send>>,
    page: std::vec::IntoIter<Object>,
    first: bool,
    /// The number of bytes since the connection last had to send.
    unsent: usize,
}

impl Chunks {
    async fn next(&mut self) -> Option<Result<Bytes, BoxError>> {
        self.unsent += CHUNK;
        if self.unsent > UNSENT {
            // Yield, so that the connection sends what it has and other requests get their turn.
            tokio::task::yield_now().await;
            self.unsent = CHUNK;
        }
        let mut out = BytesMut::new();
        loop {
            for object in self.page.by_ref() {
                if out.is_empty() {
                    out.reserve(CHUNK + object.bytes.len());
                }
                self.writer
                    .items(&mut out, std::slice::from_ref(&object), self.first);
                self.first = false;
                if out.len() >= CHUNK {
                    return Some(Ok(out.freeze()));
                }
            }
            match self.pages.next().await {
                Some(Ok(page)) => self.page = page.into_iter(),
                Some(Err(e)) => return Some(Err(Box::new(e))),
                None if out.is_empty() => return None,
                None => return Some(Ok(out.freeze())),
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Form {
    Objects,
    Partial(&'static str),
}

struct ItemWriter {
    form: Form,
    list_kind: String,
    api_version: String,
    /// The prefix of an item that is left out.
    bare: Option<Bytes>,
    /// Whether the list has no type.
    plain: bool,
}

impl ItemWriter {
    fn new(resource: &Resource, form: Form) -> Self {
        let (list_kind, api_version) = match form {
            Form::Objects => (list_kind(resource), resource.spec.kind.api_version()),
            Form::Partial(version) => (
                "PartialObjectMetadataList".to_owned(),
                format!("meta.k8s.io/{version}"),
            ),
        };
        let bare = (resource.spec.bare_items && matches!(form, Form::Objects))
            .then(|| resource.spec.type_prefix());
        Self {
            form,
            list_kind,
            api_version,
            bare,
            plain: resource.custom.is_some() && matches!(form, Form::Objects),
        }
    }

    /// Returns the list up to the first item.
    fn head(&self, list: &ObjectList) -> BytesMut {
        let (kind, api_version) = (&self.list_kind, &self.api_version);
        let mut metadata = list_metadata(list);
        if self.plain && list.continue_token.is_empty() {
            // Lists without a type always have a continue token, even an empty one.
            metadata["continue"] = json!("");
        }
        format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",\"metadata\":{metadata},\"items\":[")
            .as_bytes()
            .into()
    }

    fn items(&self, out: &mut BytesMut, objects: &[Object], mut first: bool) {
        for object in objects {
            if !first {
                out.put_u8(b',');
            }
            first = false;
            match (self.form, &self.bare) {
                (Form::Partial(version), _) => {
                    out.put_slice(partial_json(object, version).as_bytes())
                }
                (Form::Objects, Some(prefix)) if object.bytes.starts_with(prefix) => {
                    out.put_u8(b'{');
                    out.put_slice(&object.bytes[prefix.len()..]);
                }
                (Form::Objects, _) => out.put_slice(&object.bytes),
            }
        }
    }
}

/// Returns the kind of the list.
fn list_kind(resource: &Resource) -> String {
    match &resource.custom {
        Some(custom) => custom.list_kind().to_owned(),
        None => format!("{}List", resource.spec.kind.kind),
    }
}

fn list_metadata(list: &ObjectList) -> Value {
    let mut metadata = json!({});
    if !list.resource_version.is_empty() {
        metadata["resourceVersion"] = json!(list.resource_version);
    }
    if !list.continue_token.is_empty() {
        metadata["continue"] = json!(list.continue_token);
    }
    if let Some(remaining) = list.remaining {
        metadata["remainingItemCount"] = json!(remaining);
    }
    metadata
}

async fn table_body(
    cx: &RequestContext,
    accepted: &Accepted,
    resource: &Resource,
    list: ObjectList,
    version: &'static str,
) -> Result<Response<Body>, Status> {
    let include = Include::parse(cx)?;
    let mut table = json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": list_metadata(&list),
        "columnDefinitions": resource.table.columns(),
    });
    let mut objects = Vec::new();
    for object in list.items.collect().await? {
        objects.push(object.to_value()?);
    }
    objects.sort_by(|a, b| resource.table.order(a, b));
    let rows = objects
        .into_iter()
        .map(|value| table::row(&*resource.table, value, include, version));
    table["rows"] = rows.collect();
    Ok(value_response(200, accepted, &table))
}
