//! The permission to open a stream.

use kubewright_machinery::{Status, gvk::GroupResource, status};

use super::Attributes;
use crate::request::{RequestContext, Verb};

/// Checks that the user may `create` the subresource of a request. A web socket is opened by a GET, which roles allow
/// as reading, although its consequences may go further.
///
/// # Errors
///
/// Fails with 403 if the user may not, and with 500 if the authorizer does not know.
pub async fn authorize_creation(cx: &RequestContext) -> Result<(), Status> {
    let info = &cx.info;
    if info.verb == Verb::Create {
        return Ok(());
    }
    let attributes = Attributes::of_request(&cx.user, info, &cx.query).with_verb("create");
    let decision = cx.authorize(&attributes).await;
    match decision.error {
        _ if decision.is_allow() => Ok(()),
        Some(error) => Err(status::unknown(error)),
        None => {
            let resource = GroupResource::new(&info.group, &info.resource);
            let reason = decision.reason.to_string();
            Err(status::forbidden(&resource, &info.name, &reason))
        }
    }
}
