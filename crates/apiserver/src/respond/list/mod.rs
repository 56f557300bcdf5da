//! List responses in every form and encoding, encoded object by object while they are sent.
//!
//! | file | contents |
//! |---|---|
//! | `form` | the items: objects, metadata, rows; the fields around them |
//! | `encoding` | compact and indented JSON, YAML |
//! | `protobuf` | protobuf |
//! | `recorded` | the copy of a list for the audit event |
//! | `stream` | the pages of a list, encoded chunk by chunk |

mod encoding;
mod form;
mod protobuf;
mod recorded;
mod stream;
#[cfg(test)]
mod tests;

use http::Response;
use kubewright_machinery::Status;

use self::{
    encoding::{Compact, Encoding, Pretty, Yaml},
    form::{Form, Head},
    protobuf::Protobuf,
    recorded::Recorded,
};
use super::{
    encode::{response, status_answer},
    negotiate::{Accepted, Media},
};
use crate::{
    body::Body,
    registry::{Items, ObjectList, Resource, RowOrder},
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
        Ok(body) => response(200, accepted.media.name(), body),
        Err(error) => status_answer(
            &cx.annotations,
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
) -> Result<Body, Status> {
    let form = Form::new(cx, accepted.transform, resource)?;
    let head = Head::new(&form, resource, &list);
    let items = match form.order() {
        None => list.items,
        Some(order) => sorted(list.items, order).await?,
    };
    let record = cx.annotations.record().filter(|r| r.wants_response());
    let copy = match record {
        Some(record) => {
            let form = Form::new(cx, accepted.transform, resource)?;
            Some((record.clone(), Compact::new(head.clone(), form)))
        }
        None => None,
    };
    let encoding: Box<dyn Encoding> = match accepted.media {
        Media::Json if accepted.pretty => Box::new(Pretty::new(head, form)),
        Media::Json => Box::new(Compact::new(head, form)),
        Media::Yaml => Box::new(Yaml::new(head, form)),
        Media::Protobuf => {
            let declared = resource.custom.as_ref().and_then(|c| c.protobuf());
            Box::new(Protobuf::new(head, form, declared, &items).await?)
        }
    };
    let encoding = match copy {
        Some((record, copy)) => Box::new(Recorded::new(encoding, copy, record)),
        None => encoding,
    };
    stream::body(encoding, items).await
}

/// Sorts the rows of the few kinds that are not shown in the order of their names.
async fn sorted(items: Items, order: RowOrder) -> Result<Items, Status> {
    let mut objects = Vec::new();
    for object in items.collect().await? {
        objects.push((object.to_value()?, object));
    }
    objects.sort_by(|(a, _), (b, _)| order(a, b));
    Ok(Items::All(objects.into_iter().map(|(_, o)| o).collect()))
}
