//! The readiness of applied objects.

use kube::core::DynamicObject;
use serde_json::Value;

/// The readiness of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    Ready,
    /// Not ready yet, with the reason.
    Waiting(String),
    /// Failed permanently, with the reason.
    Failed(String),
}

/// Returns the readiness of an object. Objects of unknown kinds are ready once they exist.
pub(super) fn readiness(object: &DynamicObject) -> Readiness {
    let kind = object.types.as_ref().map_or("", |types| &types.kind);
    match kind {
        "CustomResourceDefinition" => definition(object),
        "APIService" => condition_is_true(object, "Available"),
        "Namespace" => match text(object, "/status/phase") {
            Some("Active") | None => Readiness::Ready,
            Some(phase) => Readiness::Failed(format!("it is {phase}")),
        },
        "Deployment" => deployment(object),
        "StatefulSet" => replicas(object, "/status/readyReplicas", "ready"),
        "DaemonSet" => daemons(object),
        _ => Readiness::Ready,
    }
}

fn definition(object: &DynamicObject) -> Readiness {
    match condition(object, "NamesAccepted") {
        Some(condition) if condition["status"] == "False" => Readiness::Failed(message(condition)),
        _ => condition_is_true(object, "Established"),
    }
}

fn deployment(object: &DynamicObject) -> Readiness {
    match condition(object, "Progressing") {
        Some(condition) if condition["reason"] == "ProgressDeadlineExceeded" => {
            Readiness::Failed(message(condition))
        }
        _ => replicas(object, "/status/availableReplicas", "available"),
    }
}

/// Returns whether all wanted replicas are updated, and as many are counted at the path.
fn replicas(object: &DynamicObject, path: &str, what: &str) -> Readiness {
    if let Some(waiting) = unseen(object) {
        return waiting;
    }
    let wanted = number(object, "/spec/replicas").unwrap_or(1);
    let updated = number(object, "/status/updatedReplicas").unwrap_or(0);
    let there = number(object, path).unwrap_or(0);
    match updated >= wanted && there >= wanted {
        true => Readiness::Ready,
        false => Readiness::Waiting(format!("{} of {wanted} {what}", updated.min(there))),
    }
}

fn daemons(object: &DynamicObject) -> Readiness {
    if let Some(waiting) = unseen(object) {
        return waiting;
    }
    let wanted = number(object, "/status/desiredNumberScheduled").unwrap_or(0);
    let there = number(object, "/status/numberAvailable").unwrap_or(0);
    match there >= wanted {
        true => Readiness::Ready,
        false => Readiness::Waiting(format!("{there} of {wanted} available")),
    }
}

/// Returns whether the controller has not observed the newest generation yet.
fn unseen(object: &DynamicObject) -> Option<Readiness> {
    let seen = number(object, "/status/observedGeneration").unwrap_or(0);
    let wanted = object.metadata.generation.unwrap_or(0);
    (seen < wanted).then(|| Readiness::Waiting("not observed by a controller yet".to_owned()))
}

fn condition_is_true(object: &DynamicObject, wanted: &str) -> Readiness {
    match condition(object, wanted) {
        Some(condition) if condition["status"] == "True" => Readiness::Ready,
        Some(condition) => Readiness::Waiting(message(condition)),
        None => Readiness::Waiting(format!("not {wanted}")),
    }
}

fn condition<'a>(object: &'a DynamicObject, wanted: &str) -> Option<&'a Value> {
    let conditions = object.data.pointer("/status/conditions")?.as_array()?;
    conditions
        .iter()
        .find(|condition| condition["type"] == wanted)
}

fn message(condition: &Value) -> String {
    let said = condition["message"].as_str().unwrap_or_default();
    match said {
        "" => condition["type"].as_str().unwrap_or_default().to_owned(),
        said => said.to_owned(),
    }
}

fn number(object: &DynamicObject, path: &str) -> Option<i64> {
    object.data.pointer(path)?.as_i64()
}

fn text<'a>(object: &'a DynamicObject, path: &str) -> Option<&'a str> {
    object.data.pointer(path)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(kind: &str, generation: i64, rest: Value) -> Readiness {
        let mut object = json!({
            "apiVersion": "x/v1", "kind": kind,
            "metadata": {"name": "a", "generation": generation},
        });
        for (key, value) in rest.as_object().unwrap() {
            object[key] = value.clone();
        }
        readiness(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn a_definition_is_ready_when_it_is_established() {
        let conditions = |named: &str, established: &str| {
            json!({"status": {"conditions": [
                {"type": "NamesAccepted", "status": named, "message": "taken"},
                {"type": "Established", "status": established, "message": "installing"}]}})
        };
        let kind = "CustomResourceDefinition";
        assert_eq!(of(kind, 1, conditions("True", "True")), Readiness::Ready);
        let waits = Readiness::Waiting("installing".into());
        assert_eq!(of(kind, 1, conditions("True", "False")), waits);
        let fails = Readiness::Failed("taken".into());
        assert_eq!(of(kind, 1, conditions("False", "False")), fails);
        let waits = Readiness::Waiting("not Established".into());
        assert_eq!(of(kind, 1, json!({})), waits);
    }

    #[test]
    fn a_deployment_is_ready_when_its_newest_pods_are_available() {
        let status = |seen: i64, updated: i64, available: i64| {
            json!({"spec": {"replicas": 2}, "status": {"observedGeneration": seen,
                "updatedReplicas": updated, "availableReplicas": available}})
        };
        assert_eq!(of("Deployment", 3, status(3, 2, 2)), Readiness::Ready);
        let old = Readiness::Waiting("1 of 2 available".into());
        assert_eq!(of("Deployment", 3, status(3, 1, 2)), old);
        let unseen = Readiness::Waiting("not observed by a controller yet".into());
        assert_eq!(of("Deployment", 3, status(2, 2, 2)), unseen);
        let late = json!({"status": {"conditions": [{"type": "Progressing", "status": "False",
            "reason": "ProgressDeadlineExceeded", "message": "too late"}]}});
        assert_eq!(
            of("Deployment", 1, late),
            Readiness::Failed("too late".into())
        );
    }
}
