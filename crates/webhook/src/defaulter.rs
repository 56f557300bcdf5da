//! [`Defaulter`]: changes objects before they are stored.

use std::{future::Future, marker::PhantomData};

use kubewright_controller::{Object, Result};

use crate::{
    admission::Admission,
    error::rejection,
    handler::Handler,
    patch,
    review::{AdmissionResponse, Operation},
};

/// Sets defaults of an object before it is stored, for defaults that a schema cannot express.
///
/// It is called for creations and updates, possibly more than once for a request, so that it must be idempotent. Fields of the
/// object that are unknown to the type are kept. Closures implement the trait.
///
/// ```
/// # mod crew {
/// #     use serde::{Deserialize, Serialize};
/// #     #[derive(kube::CustomResource, Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
/// #     #[kube(group = "crew.example.com", version = "v1", kind = "Captain", namespaced)]
/// #     pub struct CaptainSpec { pub ship: Option<String> }
/// # }
/// # use crew::Captain;
/// use kubewright_controller::Result;
/// use kubewright_webhook::{Admission, Defaulter, Webhook};
///
/// /// Gives every captain a ship.
/// struct CaptainDefaulter {
///     ship: String,
/// }
///
/// impl Defaulter<Captain> for CaptainDefaulter {
///     async fn default(&self, _: &Admission<'_>, captain: &mut Captain) -> Result<()> {
///         captain.spec.ship.get_or_insert_with(|| self.ship.clone());
///         Ok(())
///     }
/// }
///
/// let webhook = Webhook::defaulter(CaptainDefaulter { ship: "pequod".into() });
/// assert_eq!(webhook.path(), "/mutate-crew-example-com-v1-captain");
///
/// // The same as a closure.
/// let webhook = Webhook::defaulter(|captain: &mut Captain| {
///     captain.spec.ship.get_or_insert_with(|| "pequod".into());
/// });
/// # let _ = webhook;
/// ```
pub trait Defaulter<K: Object>: Send + Sync + 'static {
    /// Sets the defaults.
    ///
    /// # Errors
    ///
    /// An error rejects the request, like an error of a [`Validator`](crate::Validator).
    fn default(
        &self,
        ctx: &Admission<'_>,
        object: &mut K,
    ) -> impl Future<Output = Result<()>> + Send;
}

impl<K, F> Defaulter<K> for F
where
    K: Object,
    F: Fn(&mut K) + Send + Sync + 'static,
{
    async fn default(&self, _: &Admission<'_>, object: &mut K) -> Result<()> {
        self(object);
        Ok(())
    }
}

/// The number of bytes that defaults usually add to an object.
const ROOM: usize = 256;

/// Handles reviews with a defaulter.
pub(crate) struct Defaulting<D, K> {
    defaulter: D,
    kind: PhantomData<fn() -> K>,
}

impl<D, K> Defaulting<D, K> {
    pub(crate) fn new(defaulter: D) -> Self {
        Self {
            defaulter,
            kind: PhantomData,
        }
    }
}

impl<K: Object, D: Defaulter<K>> Handler for Defaulting<D, K> {
    async fn handle(&self, ctx: &Admission<'_>) -> AdmissionResponse {
        if ctx.operation() == Operation::Delete {
            return AdmissionResponse::allowed();
        }
        let original = ctx.object_text();
        let mut object: Box<K> = match ctx.decode(original) {
            Ok(object) => object,
            Err(error) => return AdmissionResponse::errored(400, error.to_string()),
        };
        let length = original.map_or(0, str::len);
        let before = encode(&*object, length);
        if let Err(error) = self.defaulter.default(ctx, &mut object).await {
            return rejection(&error, ctx);
        }
        let changes = before.and_then(|before| {
            let after = encode(&*object, before.len() + ROOM)?;
            match original {
                Some(original) if before != after => patch::changes(&before, &after, original),
                _ => Ok(Vec::new()),
            }
        });
        match changes {
            Ok(changes) => AdmissionResponse::patched(changes),
            Err(error) => AdmissionResponse::errored(500, error.to_string()),
        }
    }
}

/// Encodes an object with an approximate length.
fn encode<K: Object>(object: &K, length: usize) -> serde_json::Result<String> {
    let mut text = Vec::with_capacity(length);
    serde_json::to_writer(&mut text, object)?;
    String::from_utf8(text).map_err(serde::ser::Error::custom)
}
