//! [`Admission`]: rules for objects of a kind that its schema cannot express.

use std::{marker::PhantomData, sync::Arc};

use async_trait::async_trait;
use kubewright_apiserver::{
    admission::{Attributes, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::{Status, gvk::GroupResource, status};
use serde_json::Value;

use crate::storage::ServedKind;

/// Changes and validates the objects of a kind before they are stored.
///
/// The methods are called after the object was decoded and defaulted by its schema. They are called for every write of the object
/// itself, in the version of `K`, but not for writes of subresources such as `status`.
///
/// ```
/// use async_trait::async_trait;
/// # extern crate kubewright_resource as kubewright;
/// # #[derive(kube::CustomResource, kubewright::Schema, Clone, Debug, serde::Serialize, serde::Deserialize)]
/// # #[kube(group = "sky.example.com", version = "v1", kind = "Planet")]
/// # pub struct PlanetSpec { moons: u32 }
/// use kubewright_apiserver::request::RequestContext;
/// use kubewright_extension_apiserver::Admission;
/// use kubewright_machinery::{Status, status};
///
/// struct NoNewMoons;
///
/// #[async_trait]
/// impl Admission<Planet> for NoNewMoons {
///     async fn validate(
///         &self,
///         _: &RequestContext,
///         new: &Planet,
///         old: Option<&Planet>,
///     ) -> Result<(), Status> {
///         match old {
///             Some(old) if new.spec.moons > old.spec.moons => Err(status::bad_request("no new moons")),
///             _ => Ok(()),
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Admission<K: ServedKind>: Send + Sync + 'static {
    /// Changes a new or changed object. It may be called more than once for one request.
    ///
    /// # Errors
    ///
    /// The error is returned to the client, as in the other methods.
    async fn mutate(&self, _cx: &RequestContext, _object: &mut K) -> Result<(), Status> {
        Ok(())
    }

    /// Validates a new or changed object.
    async fn validate(
        &self,
        _cx: &RequestContext,
        _new: &K,
        _old: Option<&K>,
    ) -> Result<(), Status> {
        Ok(())
    }

    /// Validates a deletion. `object` is the stored object, if it is known.
    async fn validate_delete(&self, _cx: &RequestContext, _object: &K) -> Result<(), Status> {
        Ok(())
    }
}

/// The admission of a kind, as a plugin of the server.
pub(crate) struct Typed<K> {
    admission: Arc<dyn Admission<K>>,
    resource: GroupResource,
    api_version: String,
    kind: PhantomData<fn() -> K>,
}

impl<K: ServedKind> Typed<K> {
    pub(crate) fn new(admission: Arc<dyn Admission<K>>) -> Self {
        Self {
            admission,
            resource: GroupResource::new(K::group(&()), K::plural(&())),
            api_version: K::api_version(&()).into_owned(),
            kind: PhantomData,
        }
    }

    /// Returns whether a request writes objects of the kind in the version of the type.
    fn concerns(&self, cx: &RequestContext) -> bool {
        let spec = cx.resource.spec();
        cx.info.subresource.is_empty()
            && spec.plural == self.resource.resource
            && spec.group_version.group == self.resource.group
            && spec.kind.api_version() == self.api_version
    }
}

/// Decodes an object. Objects that do not fit the type are left to validation, which rejects them with a better message.
fn decode<K: ServedKind>(object: &Value) -> Option<K> {
    serde_json::from_value(object.clone()).ok()
}

#[boxed_async]
impl<K: ServedKind> Plugin for Typed<K> {
    async fn mutate(
        &self,
        cx: &RequestContext,
        _attributes: &Attributes<'_>,
        object: Option<&mut Value>,
    ) -> Result<(), Status> {
        let Some(object) = object.filter(|_| self.concerns(cx)) else {
            return Ok(());
        };
        let Some(before) = decode::<K>(object) else {
            return Ok(());
        };
        let mut typed = before.clone();
        self.admission.mutate(cx, &mut typed).await?;
        let after = serde_json::to_value(&typed).map_err(status::internal)?;
        // An object that was not changed keeps its original form.
        if after != serde_json::to_value(&before).map_err(status::internal)? {
            *object = after;
        }
        Ok(())
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        if !self.concerns(cx) {
            return Ok(());
        }
        let old = attributes.old.and_then(decode::<K>);
        match (object, old) {
            (Some(object), old) => match decode::<K>(object) {
                Some(new) => self.admission.validate(cx, &new, old.as_ref()).await,
                None => Err(status::internal(
                    "the schema allows an object that the type does not",
                )),
            },
            (None, Some(old)) => self.admission.validate_delete(cx, &old).await,
            (None, None) => Ok(()),
        }
    }
}
