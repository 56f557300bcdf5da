//! Resource quotas.

use serde_json::Value;

use super::kind;

kind! {
    /// A quota. Its spec and status are read by the functions that admission uses too.
    ResourceQuota, "", "v1", "resourcequotas", Value, Value
}
