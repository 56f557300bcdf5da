//! [`CustomKind`]: a kind that a Rust type defines.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::{CustomResourceExt, Resource};
use kubewright_machinery::Status;
use serde::Serialize;
use serde_json::Value;

use crate::{
    crd::{CrdBuilder, CrdError},
    validator::Validator,
};

/// A kind that a Rust type defines.
///
/// Implemented by `#[derive(Schema)]` next to `kube::CustomResource`, and by [`custom_kind!`](crate::custom_kind).
///
/// ```
/// # extern crate kubewright_resource as kubewright;
/// use kube::CustomResource;
/// use kubewright::{CustomKind, Schema};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
/// #[kube(group = "crew.example.com", version = "v1", kind = "Ship", namespaced)]
/// pub struct ShipSpec {
///     #[schema(minimum = 1)]
///     masts: i32,
/// }
///
/// assert_eq!(Ship::manifest()?["metadata"]["name"], "ships.crew.example.com");
/// assert!(Ship::new("pequod", ShipSpec { masts: 3 }).validate(None).is_ok());
/// assert!(Ship::new("raft", ShipSpec { masts: 0 }).validate(None).is_err());
/// # Ok::<(), kubewright::CrdError>(())
/// ```
pub trait CustomKind:
    Resource<DynamicType = ()> + CustomResourceExt + Serialize + Sized + 'static
{
    /// Adds the schema and the options of `#[crd(...)]` to the CRD.
    #[doc(hidden)]
    fn extend_crd(_crd: &mut CrdBuilder) {}

    /// Returns the positions in the source of rules, defaults and attributes, by their path in the schema.
    #[doc(hidden)]
    fn sources() -> BTreeMap<String, String> {
        let mut draft = CrdBuilder::draft();
        Self::extend_crd(&mut draft);
        draft.sources()
    }

    /// Returns the numbers of fields in protobuf, as `#[schema(protobuf = 3)]` sets them, by the path of the field:
    /// `spec.moons.radius`. Items of lists and values of maps have no part in it.
    fn protobuf_numbers() -> BTreeMap<String, u16> {
        let mut draft = CrdBuilder::draft();
        Self::extend_crd(&mut draft);
        draft.protobuf_numbers()
    }

    /// Returns the validator of the kind, which compiles its schema and rules once.
    fn validator() -> &'static Validator;

    /// Returns the CustomResourceDefinition, as written to a server.
    ///
    /// Unlike `crd()` of kube it has everything that `#[schema(...)]` and `#[crd(...)]` say.
    ///
    /// # Errors
    ///
    /// Fails if an attribute gives a keyword a value it cannot have, such as `extend("maximum" = "many")`. The error names
    /// the field and the keyword.
    fn custom_resource_definition() -> Result<CustomResourceDefinition, CrdError> {
        let manifest = Self::manifest()?;
        serde_json::from_value(manifest).map_err(|e| CrdError::Malformed {
            kind: Self::kind(&()).into_owned(),
            reason: e.to_string(),
        })
    }

    /// Returns the CustomResourceDefinition as JSON, as written to files. Whole numbers have no fraction.
    ///
    /// # Errors
    ///
    /// Fails as [`custom_resource_definition`](Self::custom_resource_definition) does.
    fn manifest() -> Result<Value, CrdError> {
        // kube's `crd()` panics on a schema that is not valid, so the schema is checked first.
        let mut draft = CrdBuilder::draft();
        Self::extend_crd(&mut draft);
        draft.check(&Self::kind(&()))?;
        let outline = serde_json::to_value(Self::crd()).map_err(|e| CrdError::Malformed {
            kind: Self::kind(&()).into_owned(),
            reason: e.to_string(),
        })?;
        let mut crd = CrdBuilder::new(outline);
        Self::extend_crd(&mut crd);
        Ok(crd.finish())
    }

    /// Validates this object as the server would, as a new object or as the replacement of `old`.
    ///
    /// The status is validated by [`validate_status`](Self::validate_status), as on a server where the kind has a status
    /// subresource. An object without a namespace is validated as one in `default`.
    ///
    /// # Errors
    ///
    /// Returns the `Status` with which the server would reject the object.
    // The error is the server's complete answer.
    #[allow(clippy::result_large_err)]
    fn validate(&self, old: Option<&Self>) -> Result<(), Status> {
        let object = to_value(self)?;
        match old {
            None => Self::validator().create(&object).map(drop),
            Some(old) => Self::validator().update(&object, &to_value(old)?).map(drop),
        }
    }

    /// Validates the status of this object as the replacement of the status of `old`.
    ///
    /// # Errors
    ///
    /// Returns the `Status` with which the server would reject the update.
    #[allow(clippy::result_large_err)]
    fn validate_status(&self, old: &Self) -> Result<(), Status> {
        let (object, old) = (to_value(self)?, to_value(old)?);
        Self::validator().update_status(&object, &old).map(drop)
    }
}

/// Implements [`CustomKind`] for types of `kube::CustomResource` whose schema comes from `kube::KubeSchema` or schemars.
#[macro_export]
macro_rules! custom_kind {
    ($($kind:ty),+ $(,)?) => {$(
        impl $crate::CustomKind for $kind {
            fn validator() -> &'static $crate::Validator {
                static VALIDATOR: ::std::sync::OnceLock<$crate::Validator> =
                    ::std::sync::OnceLock::new();
                VALIDATOR.get_or_init($crate::Validator::of::<Self>)
            }
        }
    )+};
}

#[allow(clippy::result_large_err)]
fn to_value<T: Serialize>(object: &T) -> Result<Value, Status> {
    serde_json::to_value(object).map_err(kubewright_machinery::status::internal)
}
