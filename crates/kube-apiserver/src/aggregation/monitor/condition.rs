//! Writes the condition `Available` of an APIService.

use kubewright_apiserver::{registry::DryRun, rfc3339};
use kubewright_machinery::{Status, json::Read};
use serde_json::{Value, json};

use super::super::{Aggregation, MANAGER, index::ApiService, probe::Condition};

/// Writes a condition, if it changes. Its transition time changes only with its status.
pub(super) async fn write(
    aggregation: &Aggregation,
    service: &ApiService,
    condition: &Condition,
) -> Result<(), Status> {
    let now = aggregation.environment.clock.now();
    let change = |object: &mut Value| {
        let before = object.clone();
        // The APIService may have been deleted and created again.
        if object["metadata"]["uid"].text() != service.uid {
            return Ok(());
        }
        let conditions = object["status"]["conditions"].items();
        let old = conditions.iter().find(|c| c["type"].text() == "Available");
        let same = |old: &Value| {
            old["status"].text() == condition.status
                && old["reason"].text() == condition.reason
                && old["message"].text() == condition.message
        };
        if old.is_some_and(same) {
            return Ok(());
        }
        let time = match old.filter(|old| old["status"].text() == condition.status) {
            Some(old) => old["lastTransitionTime"].clone(),
            None => rfc3339(now).into(),
        };
        object["status"]["conditions"] = json!([{
            "type": "Available",
            "status": condition.status,
            "lastTransitionTime": time,
            "reason": condition.reason,
            "message": condition.message,
        }]);
        let second = now.as_second();
        aggregation
            .status_manager
            .update(&before, object, MANAGER, second);
        Ok(())
    };
    let written = aggregation
        .stored
        .rewrite_in("", &service.name, DryRun::No, &change);
    match written.await {
        Err(e) if e.code != 404 => Err(e),
        _ => Ok(()),
    }
}
