//! The values of the variables of admission expressions.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::access::{Access, AccessDecisions, AccessedResource, Authorizer};
use crate::program::Activation;
use crate::value::Value;
use crate::value::json::from_json;

/// The request that admission expressions see. One input serves the programs of every [`AdmissionEnv`](super::AdmissionEnv).
///
/// ```
/// use kubewright_cel::{AdmissionEnv, AdmissionInput, Type, Value};
/// use serde_json::json;
///
/// let program = AdmissionEnv::new().compile("object.spec.replicas > 1 && oldObject == null", &[Type::Bool])?;
/// let object = json!({"spec": {"replicas": 2}});
/// let input = AdmissionInput { object: Some(&object), ..AdmissionInput::default() };
/// let activation = input.activation();
/// assert!(matches!(program.evaluate(&activation).result, Ok(Value::Bool(true))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct AdmissionInput<'a> {
    /// `object`, or null.
    pub object: Option<&'a Json>,
    /// `oldObject`, or null.
    pub old_object: Option<&'a Json>,
    /// `namespaceObject`, or null.
    pub namespace_object: Option<&'a Json>,
    /// `request`
    pub request: Option<&'a Json>,
    /// `params`, or null.
    pub params: Option<&'a Json>,
    /// The decisions that `authorizer` gives. Without them its use is an error.
    pub decisions: Option<&'a dyn AccessDecisions>,
    /// The resource that `authorizer.requestResource` is about.
    pub request_resource: Option<&'a Arc<AccessedResource>>,
}

impl<'a> AdmissionInput<'a> {
    /// The number of `namespaceObject`, for [`Program::uses`](crate::Program::uses).
    pub const NAMESPACE_OBJECT: usize = 2;
    /// The number of `request`, for [`Program::uses`](crate::Program::uses).
    pub const REQUEST: usize = 3;

    /// Returns the values, in the order in which the environment declares the names.
    pub fn activation(&self) -> Activation<'a> {
        let value = |json: Option<&'a Json>| match json {
            Some(json) => from_json(json, None).unwrap_or(Value::Null),
            None => Value::Null,
        };
        let activation = Activation::new()
            .value(value(self.object))
            .value(value(self.old_object))
            .value(value(self.namespace_object))
            .value(value(self.request))
            .value(value(self.params));
        let activation = match self.decisions {
            None => activation.absent().absent(),
            Some(decisions) => {
                let authorizer = Authorizer::new(decisions);
                let resource = self.request_resource.cloned().unwrap_or_default();
                activation
                    .value(Value::Access(Access::Authorizer(authorizer.clone())))
                    .value(Value::Access(Access::ResourceCheck(authorizer, resource)))
            }
        };
        activation.value(Value::Variables)
    }
}
