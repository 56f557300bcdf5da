//! `list` and `watch`

use std::time::Duration;

use http::Response;
use kubewright_machinery::{Status, fields::FieldSelector, status};

use super::{Call, Target};
use crate::{
    body::Body,
    registry::Resource,
    request::{ListOptions, RequestContext, Verb},
    respond::{Accepted, list::list_response, watch::watch_response},
};

/// The least a watch lasts when the client does not say; the most is twice that.
const WATCH_TIMEOUT: Duration = Duration::from_secs(1800);

pub(super) async fn run(call: Call) -> Result<Response<Body>, Status> {
    let handler = call.handler(|handlers| &handlers.list)?;
    let accepted = call.accepted()?;
    let Call { cx, target, .. } = call;
    let mut options = options(&cx, &target.resource, cx.info.verb == Verb::Watch)?;
    if options.watch {
        return watch(&cx, &target, &accepted, &mut options).await;
    }
    let list = handler.list(&cx, &options).await?;
    Ok(list_response(&cx, &accepted, &target.resource, list).await)
}

async fn watch(
    cx: &RequestContext,
    target: &Target,
    accepted: &Accepted,
    options: &mut ListOptions,
) -> Result<Response<Body>, Status> {
    let handler = target.handlers().watch.clone().ok_or_else(|| {
        status::method_not_allowed(&target.resource.spec.group_resource(), "watch")
    })?;
    let timeout = match options.timeout_seconds.filter(|seconds| *seconds > 0) {
        Some(seconds) => Duration::from_secs(seconds),
        // Spread, so that watches that began together do not end together.
        None => WATCH_TIMEOUT.mul_f64(1.0 + rand::random::<f64>()),
    };
    options.timeout_seconds = Some(timeout.as_secs());
    let events = handler.watch(cx, options).await?;
    watch_response(cx, accepted, &target.resource, events, timeout)
}

/// The options of a list, a watch or a collection's delete, with selectors that name fields of the kind.
pub(super) fn options(
    cx: &RequestContext,
    resource: &Resource,
    watch: bool,
) -> Result<ListOptions, Status> {
    let mut options = match watch {
        true => ListOptions::of_watch(&cx.query)?,
        false => ListOptions::of_list(&cx.query)?,
    };
    for term in options.fields.terms() {
        check_field(resource, &term.field)?;
    }
    let name = &cx.info.name;
    if name.is_empty() {
        return Ok(options);
    }
    if options.fields.is_empty() {
        options.fields = FieldSelector::parse(&format!("metadata.name={name}"))
            .map_err(|e| status::bad_request(e.to_string()))?;
    } else if options.fields.required_value("metadata.name") != Some(name) {
        return Err(status::bad_request(
            "fieldSelector metadata.name doesn't match requested name",
        ));
    }
    Ok(options)
}

fn check_field(resource: &Resource, field: &str) -> Result<(), Status> {
    if field == "metadata.name" || resource.spec.selectable.position(field).is_some() {
        return Ok(());
    }
    match &resource.field_label {
        Some(check) => check(field).map_err(status::bad_request),
        None if field == "metadata.namespace" => Ok(()),
        None => Err(status::bad_request(format!(
            "field label not supported: {field}"
        ))),
    }
}
