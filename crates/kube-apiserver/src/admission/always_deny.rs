//! `AlwaysDeny`: rejects every write but those of the server itself, without which it would not start.

use kubewright_apiserver::{
    admission::{Attributes, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::Status;
use serde_json::Value;

use super::forbidden::forbidden;

/// The user that the server is for itself.
const SERVER: &str = "system:apiserver";

/// The `AlwaysDeny` plugin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AlwaysDeny;

#[boxed_async]
impl Plugin for AlwaysDeny {
    fn reads_updated(&self, _cx: &RequestContext) -> bool {
        false
    }

    async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Value>,
    ) -> Result<(), Status> {
        if cx.user.name == SERVER {
            return Ok(());
        }
        let object = object.as_deref().unwrap_or(&Value::Null);
        let cause = "admission control is denying all modifications";
        Err(forbidden(cx, attributes, object, cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::testing::{Scene, pod};

    #[tokio::test]
    async fn everything_is_denied() {
        let scene = Scene::new("", "pods");
        let refused = scene.mutate(&AlwaysDeny, &mut pod()).await.unwrap_err();
        assert_eq!(
            refused.message,
            "pods \"p\" is forbidden: admission control is denying all modifications"
        );
        scene.mutate_delete(&AlwaysDeny, &pod()).await.unwrap_err();
    }
}
