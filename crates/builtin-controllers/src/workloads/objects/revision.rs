//! ControllerRevisions.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::resource;

/// A ControllerRevision.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct ControllerRevision {
    pub(crate) metadata: ObjectMeta,
    pub(crate) data: Value,
    pub(crate) revision: i64,
}

resource!(ControllerRevision, "apps", "v1", "controllerrevisions");
