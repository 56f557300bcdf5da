//! [`Admission`]: the context of defaulters, validators and handlers.

use std::ops::Deref;

use kubewright_controller::{Client, Object, Result};
use kubewright_machinery::gvk::GroupVersionKind;
use parking_lot::Mutex;
use serde::de::IgnoredAny;
use serde_json::error::Category;

use crate::{
    error::NoClient,
    review::{AdmissionRequest, AdmissionResponse, unparsable},
};

/// The context of a review: the request, the client of the operator, and the warnings for the user.
///
/// It dereferences to [`AdmissionRequest`]: the operation, the user, the old object, whether it is a dry run.
///
/// ```
/// # mod crew {
/// #     use serde::{Deserialize, Serialize};
/// #     #[derive(kube::CustomResource, Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
/// #     #[kube(group = "crew.example.com", version = "v1", kind = "Captain", namespaced)]
/// #     pub struct CaptainSpec { pub ship: String }
/// # }
/// # use crew::Captain;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::Result;
/// use kubewright_webhook::{Admission, Validator};
///
/// struct CaptainValidator;
///
/// impl Validator<Captain> for CaptainValidator {
///     async fn validate(&self, ctx: &Admission<'_>, captain: &Captain) -> Result<()> {
///         if ctx.user().is_in("system:masters") {
///             ctx.warn("the rules for captains do not apply to administrators");
///             return Ok(());
///         }
///         let namespace = ctx.namespace().unwrap_or_default();
///         // Reads from the same cache as reconcilers.
///         let harbour = ctx.client()?.get::<ConfigMap>(namespace, "harbour").await?;
///         match harbour {
///             Some(_) => Ok(()),
///             None => Err(format!("{namespace} has no harbour for {}", captain.spec.ship).into()),
///         }
///     }
/// }
/// ```
pub struct Admission<'a> {
    request: AdmissionRequest<'a>,
    client: Option<&'a Client>,
    notes: Mutex<Notes>,
}

/// The warnings and audit annotations of a review.
#[derive(Default)]
struct Notes {
    warnings: Vec<String>,
    audit_annotations: Vec<(String, String)>,
}

impl<'a> Admission<'a> {
    /// Creates the context of a request, as a server does. Tests of individual functions can call it.
    ///
    /// ```
    /// use kubewright_webhook::{Admission, AdmissionRequest};
    ///
    /// let request: AdmissionRequest = serde_json::from_str(r#"{"operation": "CREATE"}"#)?;
    /// let ctx = Admission::new(request, None);
    /// ctx.warn("the harbour closes soon");
    /// assert_eq!(ctx.warnings(), ["the harbour closes soon"]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn new(request: AdmissionRequest<'a>, client: Option<&'a Client>) -> Self {
        Self {
            request,
            client,
            notes: Mutex::default(),
        }
    }

    /// Returns the client of the operator, which reads from the same caches as reconcilers.
    ///
    /// # Errors
    ///
    /// Fails if the server has no client, because it runs without a manager.
    pub fn client(&self) -> Result<&'a Client, NoClient> {
        self.client.ok_or(NoClient)
    }

    /// Adds a warning, which the user sees whether or not the request is allowed.
    pub fn warn(&self, text: impl Into<String>) {
        self.notes.lock().warnings.push(text.into());
    }

    /// Returns the warnings so far.
    pub fn warnings(&self) -> Vec<String> {
        self.notes.lock().warnings.clone()
    }

    /// Adds an annotation to the audit event of the request. The server prefixes the key with the name of the webhook.
    pub fn audit(&self, key: impl Into<String>, value: impl Into<String>) {
        let annotation = (key.into(), value.into());
        self.notes.lock().audit_annotations.push(annotation);
    }

    /// Returns the stored object; `None` for creations.
    ///
    /// # Errors
    ///
    /// Fails if the object does not have that type.
    pub fn old<K: Object>(&self) -> Result<Option<K>, Undecodable> {
        let old = self.request.old_object_text();
        old.map(|old| self.decode(Some(old)).map(|old| *old))
            .transpose()
    }

    /// Decodes an object of the request. The object is boxed, since futures with Kubernetes types are large.
    pub(crate) fn decode<K: Object>(&self, object: Option<&str>) -> Result<Box<K>, Undecodable> {
        let object = object.ok_or_else(|| Undecodable("there is no content to decode".into()))?;
        self.check_kind::<K>(object)?;
        serde_json::from_str(object).map_err(|error| undecodable(object, &error))
    }

    /// Fails if an object is not of the type's kind. The kind is that of the review or, without one, that of the object.
    fn check_kind<K: Object>(&self, object: &str) -> Result<(), Undecodable> {
        let given = self.request.kind();
        let is = |group: &str, version: &str, kind: &str| {
            K::kind(&()) == kind && K::version(&()) == version && K::group(&()) == group
        };
        if is(&given.group, &given.version, &given.kind) {
            return Ok(());
        }
        let given = match given.kind.is_empty() {
            true => own_kind(object)?,
            false => given.clone(),
        };
        if given.kind.is_empty() || is(&given.group, &given.version, &given.kind) {
            return Ok(());
        }
        let wanted = GroupVersionKind::new(K::group(&()), K::version(&()), K::kind(&()));
        let text = format!("unable to decode {given} into {wanted}");
        Err(Undecodable(text))
    }

    /// Adds the warnings and annotations to the response.
    pub(crate) fn annotate(&self, mut response: AdmissionResponse) -> AdmissionResponse {
        let notes = std::mem::take(&mut *self.notes.lock());
        for text in notes.warnings {
            response = response.warning(text);
        }
        for (key, value) in notes.audit_annotations {
            response = response.audit_annotation(key, value);
        }
        response
    }
}

impl<'a> Deref for Admission<'a> {
    type Target = AdmissionRequest<'a>;

    fn deref(&self) -> &Self::Target {
        &self.request
    }
}

/// An object in a review that does not have the expected type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Undecodable(String);

/// Returns the error of an object that does not match its type, or is not JSON.
fn undecodable(object: &str, error: &serde_json::Error) -> Undecodable {
    if matches!(error.classify(), Category::Syntax | Category::Eof) {
        return Undecodable(unparsable(error));
    }
    // Decoding stops at a value of the wrong type, before the text is known to be JSON.
    Undecodable(match serde_json::from_str::<IgnoredAny>(object) {
        Err(error) => unparsable(&error),
        Ok(_) => error.to_string(),
    })
}

/// Returns the kind that an object declares.
fn own_kind(object: &str) -> Result<GroupVersionKind, Undecodable> {
    #[derive(Default, serde::Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct TypeMeta {
        api_version: String,
        kind: String,
    }
    let meta: TypeMeta =
        serde_json::from_str(object).map_err(|error| undecodable(object, &error))?;
    let (group, version) = meta
        .api_version
        .split_once('/')
        .unwrap_or(("", &meta.api_version));
    Ok(GroupVersionKind::new(group, version, &*meta.kind))
}
