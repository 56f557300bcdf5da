//! Descriptions in schemas.

/// A source of descriptions of types and their fields.
///
/// Types have the names of OpenAPI documents (`io.k8s.api.core.v1.PodSpec`). `kubectl explain` shows the descriptions.
///
/// ```
/// use kubewright_apiserver::Descriptions;
///
/// struct Comets;
///
/// impl Descriptions for Comets {
///     fn describe(&self, ty: &str, field: &str) -> Option<&str> {
///         match (ty, field) {
///             ("com.example.sky.v1.Comet", "") => Some("A small icy body."),
///             _ => None,
///         }
///     }
/// }
/// ```
pub trait Descriptions: Send + Sync {
    /// Returns the description of a field, or of the type itself if the field is empty.
    fn describe(&self, ty: &str, field: &str) -> Option<&str>;
}

/// No descriptions.
pub struct Undescribed;

impl Descriptions for Undescribed {
    fn describe(&self, _: &str, _: &str) -> Option<&str> {
        None
    }
}
