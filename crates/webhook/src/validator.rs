//! [`Validator`]: allows or rejects requests.

use std::{future::Future, marker::PhantomData};

use kubewright_controller::{Object, Result};
use kubewright_machinery::go;
use kubewright_resource::CustomKind;

use crate::{
    admission::Admission,
    error::rejection,
    handler::Handler,
    review::{AdmissionResponse, Operation},
};

/// Validates an object before it is stored or deleted, by rules that a schema cannot express.
///
/// Implement [`validate`](Self::validate) for rules that apply to new and changed objects alike, and the other methods for rules
/// that depend on the operation. Deletions are validated only if the webhook is
/// [registered for them](crate::Webhook::operations).
///
/// An error rejects the request:
///
/// | error | response |
/// |---|---|
/// | [`FieldErrors`](crate::FieldErrors) | 422 Invalid, with a cause for each field |
/// | a [`Status`](kubewright_machinery::Status), or an error of the API server | the same code, reason and details |
/// | a failed read from the cache, or a request that could not be sent | 500 InternalError |
/// | any other error or text | 403 Forbidden, with this message |
///
/// Use [`Admission::warn`] to add warnings. Closures implement the trait, for new and changed objects.
///
/// ```
/// # mod crew {
/// #     use serde::{Deserialize, Serialize};
/// #     #[derive(kube::CustomResource, Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
/// #     #[kube(group = "crew.example.com", version = "v1", kind = "Captain", namespaced)]
/// #     pub struct CaptainSpec { pub ship: String, pub mates: u32 }
/// # }
/// # use crew::Captain;
/// use kubewright_controller::Result;
/// use kubewright_webhook::{Admission, FieldErrors, Operation, Validator, Webhook};
///
/// struct CaptainValidator;
///
/// impl Validator<Captain> for CaptainValidator {
///     async fn validate(&self, ctx: &Admission<'_>, captain: &Captain) -> Result<()> {
///         let mut errors = FieldErrors::new();
///         if captain.spec.ship.contains(' ') {
///             errors.invalid("spec.ship", &captain.spec.ship, "must be one word");
///         }
///         if captain.spec.mates == 0 {
///             ctx.warn("a captain without mates steers alone");
///         }
///         errors.into_result()
///     }
///
///     async fn validate_update(&self, ctx: &Admission<'_>, old: &Captain, new: &Captain) -> Result<()> {
///         if old.spec.ship != new.spec.ship {
///             return Err("a captain does not leave the ship".into());
///         }
///         self.validate(ctx, new).await
///     }
///
///     async fn validate_delete(&self, _: &Admission<'_>, captain: &Captain) -> Result<()> {
///         match captain.spec.mates {
///             0 => Ok(()),
///             _ => Err("the mates need a captain".into()),
///         }
///     }
/// }
///
/// let webhook = Webhook::validator(CaptainValidator)
///     .operations([Operation::Create, Operation::Update, Operation::Delete]);
/// assert_eq!(webhook.path(), "/validate-crew-example-com-v1-captain");
/// ```
pub trait Validator<K: Object>: Send + Sync + 'static {
    /// Validates a new or changed object. Called by the default implementations of the other methods.
    ///
    /// # Errors
    ///
    /// An error rejects the request.
    fn validate(
        &self,
        _ctx: &Admission<'_>,
        _object: &K,
    ) -> impl Future<Output = Result<()>> + Send {
        std::future::ready(Ok(()))
    }

    /// Validates a new object.
    ///
    /// # Errors
    ///
    /// An error rejects the request.
    fn validate_create(
        &self,
        ctx: &Admission<'_>,
        object: &K,
    ) -> impl Future<Output = Result<()>> + Send {
        self.validate(ctx, object)
    }

    /// Validates a changed object.
    ///
    /// # Errors
    ///
    /// An error rejects the request.
    fn validate_update(
        &self,
        ctx: &Admission<'_>,
        _old: &K,
        new: &K,
    ) -> impl Future<Output = Result<()>> + Send {
        self.validate(ctx, new)
    }

    /// Validates the deletion of an object.
    ///
    /// # Errors
    ///
    /// An error rejects the request.
    fn validate_delete(
        &self,
        _ctx: &Admission<'_>,
        _object: &K,
    ) -> impl Future<Output = Result<()>> + Send {
        std::future::ready(Ok(()))
    }
}

impl<K, F> Validator<K> for F
where
    K: Object,
    F: Fn(&K) -> Result<()> + Send + Sync + 'static,
{
    async fn validate(&self, _: &Admission<'_>, object: &K) -> Result<()> {
        self(object)
    }
}

/// Validates objects by the schema and the rules of their type, as [`CustomKind::validate`] does.
///
/// A cluster validates objects by the installed CustomResourceDefinition. This validator enforces the rules of the running
/// operator on clusters with an older definition.
///
/// ```
/// # extern crate kubewright_resource as kubewright;
/// # mod crew {
/// #     use serde::{Deserialize, Serialize};
/// #     #[derive(kube::CustomResource, kubewright::Schema, Clone, Debug, Serialize, Deserialize)]
/// #     #[kube(group = "crew.example.com", version = "v1", kind = "Captain", namespaced)]
/// #     pub struct CaptainSpec { pub ship: String }
/// # }
/// # use crew::Captain;
/// use kubewright_webhook::{SchemaValidator, Webhook};
///
/// let webhook = Webhook::validator(SchemaValidator::<Captain>::new());
/// assert_eq!(webhook.name(), "vcaptain-v1.kb.io");
/// ```
pub struct SchemaValidator<K>(PhantomData<fn() -> K>);

impl<K> SchemaValidator<K> {
    /// Creates the validator of a type.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<K> Default for SchemaValidator<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Object + CustomKind> Validator<K> for SchemaValidator<K> {
    async fn validate_create(&self, _: &Admission<'_>, object: &K) -> Result<()> {
        Ok(object.validate(None)?)
    }

    async fn validate_update(&self, ctx: &Admission<'_>, old: &K, new: &K) -> Result<()> {
        match ctx.subresource() {
            Some("status") => Ok(new.validate_status(old)?),
            _ => Ok(new.validate(Some(old))?),
        }
    }
}

/// Handles reviews with a validator.
pub(crate) struct Validating<V, K> {
    validator: V,
    kind: PhantomData<fn() -> K>,
}

impl<V, K> Validating<V, K> {
    pub(crate) fn new(validator: V) -> Self {
        Self {
            validator,
            kind: PhantomData,
        }
    }
}

impl<K: Object, V: Validator<K>> Handler for Validating<V, K> {
    async fn handle(&self, ctx: &Admission<'_>) -> AdmissionResponse {
        let unreadable = |error: crate::Undecodable| {
            let text = error.to_string();
            AdmissionResponse::errored(400, text)
        };
        let verdict = match ctx.operation() {
            Operation::Connect => Ok(()),
            Operation::Create => match ctx.decode::<K>(ctx.object_text()) {
                Ok(object) => self.validator.validate_create(ctx, &object).await,
                Err(error) => return unreadable(error),
            },
            Operation::Update => {
                let objects = ctx.decode::<K>(ctx.object_text()).and_then(|new| {
                    let old = ctx.decode::<K>(ctx.old_object_text())?;
                    Ok((old, new))
                });
                match objects {
                    Ok((old, new)) => self.validator.validate_update(ctx, &old, &new).await,
                    Err(error) => return unreadable(error),
                }
            }
            Operation::Delete => match ctx.decode::<K>(ctx.old_object_text()) {
                Ok(object) => self.validator.validate_delete(ctx, &object).await,
                Err(error) => return unreadable(error),
            },
            Operation::Other => {
                let operation = go::quote(ctx.operation_text());
                let text = format!("unknown operation {operation}");
                return AdmissionResponse::errored(400, text);
            }
        };
        match verdict {
            Ok(()) => AdmissionResponse::allowed(),
            Err(error) => rejection(&error, ctx),
        }
    }
}
