//! Conversion between the versions of a custom kind, and between stored and served objects.
//!
//! A stored object is pruned and defaulted by the schema of its version, and then converted to the requested version by a
//! [`Conversion`].

use std::sync::Arc;

use kubewright_apiserver::{boxed_async, registry::Converter};
use kubewright_machinery::{Status, status};
use kubewright_schema::structural::{ConformOptions, Structural, conform, refresh};
use serde_json::{Value, json};

/// Converts custom objects between versions.
///
/// ```
/// use kubewright_apiserver::boxed_async;
/// use kubewright_custom_kinds::Conversion;
/// use kubewright_machinery::Status;
/// use serde_json::{Value, json};
///
/// /// Renames the field `spec.size` of `v1` to `spec.replicas` in `v2`.
/// struct Sizes;
///
/// #[boxed_async]
/// impl Conversion for Sizes {
///     async fn convert(&self, mut objects: Vec<Value>, api_version: &str) -> Result<Vec<Value>, Status> {
///         let (from, to) = match api_version {
///             "example.com/v2" => ("size", "replicas"),
///             _ => ("replicas", "size"),
///         };
///         for object in &mut objects {
///             object["apiVersion"] = api_version.into();
///             if let Some(spec) = object["spec"].as_object_mut()
///                 && let Some(value) = spec.remove(from)
///             {
///                 spec.insert(to.to_owned(), value);
///             }
///         }
///         Ok(objects)
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let old = json!({"apiVersion": "example.com/v1", "kind": "Web", "spec": {"size": 3}});
/// let new = Sizes.convert(vec![old], "example.com/v2").await.unwrap();
/// assert_eq!(new[0]["spec"], json!({"replicas": 3}));
/// # });
/// ```
#[boxed_async]
pub trait Conversion: Send + Sync {
    /// Converts objects to another version, in order. None of them is in that version.
    ///
    /// # Errors
    ///
    /// Fails if any of the objects cannot be converted.
    async fn convert(&self, objects: Vec<Value>, api_version: &str) -> Result<Vec<Value>, Status>;
}

/// The conversion strategy `None`: versions differ in `apiVersion` only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Renamed;

#[boxed_async]
impl Conversion for Renamed {
    async fn convert(
        &self,
        mut objects: Vec<Value>,
        api_version: &str,
    ) -> Result<Vec<Value>, Status> {
        for object in &mut objects {
            object["apiVersion"] = json!(api_version);
        }
        Ok(objects)
    }
}

/// The schemas of all versions, by `apiVersion`.
pub(crate) type Schemas = Arc<[(String, Arc<Structural>)]>;

/// Converts objects between the versions of a CRD.
pub(crate) struct Convertible {
    pub(crate) schemas: Schemas,
    pub(crate) conversion: Arc<dyn Conversion>,
}

/// Converts stored objects to one served version.
pub(crate) struct Versioned {
    pub(crate) versions: Arc<Convertible>,
    pub(crate) served: String,
    pub(crate) stored: String,
    /// The mark of objects that are stored in the form in which this version is served, or 0.
    pub(crate) mark: u64,
}

impl Convertible {
    /// Returns the schema of a version.
    pub(crate) fn schema(&self, api_version: &str) -> Option<&Structural> {
        let found = self
            .schemas
            .iter()
            .find(|(version, _)| version == api_version);
        found.map(|(_, schema)| &**schema)
    }

    /// Converts objects to another version and prunes them. Objects of that version are unchanged.
    pub(crate) async fn convert(
        &self,
        objects: Vec<Value>,
        to: &str,
    ) -> Result<Vec<Value>, Status> {
        let conform = |object: &mut Value| match self.schema(to) {
            Some(schema) => {
                let conformed = conform(object, schema, ConformOptions::default());
                conformed.map(|_| ()).map_err(status::internal)
            }
            None => Ok(()),
        };
        self.convert_with(objects, to, conform).await
    }

    /// Converts an object to another version, without pruning unknown fields.
    pub(super) async fn convert_unpruned(&self, object: Value, to: &str) -> Result<Value, Status> {
        let converted = self.convert_with(vec![object], to, |_| Ok(())).await?;
        let lost = || status::internal("the object was lost in conversion");
        converted.into_iter().next().ok_or_else(lost)
    }

    async fn convert_with(
        &self,
        objects: Vec<Value>,
        to: &str,
        conform: impl Fn(&mut Value) -> Result<(), Status>,
    ) -> Result<Vec<Value>, Status> {
        let needs = |object: &Value| object["apiVersion"] != to;
        if !objects.iter().any(needs) {
            return Ok(objects);
        }
        for (i, object) in objects.iter().enumerate() {
            let from = object["apiVersion"].as_str().unwrap_or_default();
            if self.schema(from).is_none() {
                return Err(status::internal(if objects.len() == 1 {
                    format!("request to convert CR from an invalid group/version: {from}")
                } else {
                    format!(
                        "request to convert CR list failed, list index {i} has invalid group/version: {from}"
                    )
                }));
            }
        }
        let mut other = Vec::new();
        let mut out: Vec<Option<Value>> = Vec::with_capacity(objects.len());
        for object in objects {
            if needs(&object) {
                other.push(object);
                out.push(None);
            } else {
                out.push(Some(object));
            }
        }
        let mut converted = self.conversion.convert(other, to).await?.into_iter();
        let lost = || status::internal("an object was lost in conversion");
        out.into_iter()
            .map(|object| match object {
                Some(object) => Ok(object),
                None => {
                    let mut object = converted.next().ok_or_else(lost)?;
                    conform(&mut object)?;
                    Ok(object)
                }
            })
            .collect()
    }
}

#[boxed_async]
impl Converter for Versioned {
    async fn to_stored(&self, object: Value) -> Result<Value, Status> {
        let stored = self.versions.convert(vec![object], &self.stored).await?;
        stored
            .into_iter()
            .next()
            .ok_or_else(|| status::internal("the object was lost in conversion"))
    }

    fn refresh(&self, object: &mut Value) {
        let own = object["apiVersion"].as_str().unwrap_or_default();
        if let Some(schema) = self.versions.schema(own)
            && let Err(error) = refresh(object, schema)
        {
            // An object that cannot be served would hide all others of its kind.
            let (kind, name) = (object["kind"].as_str(), object["metadata"]["name"].as_str());
            tracing::warn!(kind, name, %error, "an object is served without some of its defaults");
        }
        let generation = object["metadata"]["generation"].as_i64();
        if generation.unwrap_or_default() == 0 {
            object["metadata"]["generation"] = json!(1);
        }
    }

    async fn to_served(&self, objects: Vec<Value>) -> Result<Vec<Value>, Status> {
        self.versions.convert(objects, &self.served).await
    }

    fn mark(&self) -> u64 {
        self.mark
    }
}
