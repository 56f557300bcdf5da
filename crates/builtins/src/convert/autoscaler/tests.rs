use serde_json::{Value, json};

use crate::convert::convert;

const V1: (&str, &str) = ("autoscaling", "v1");
const V2: (&str, &str) = ("autoscaling", "v2");
const KIND: &str = "HorizontalPodAutoscaler";

fn v2(spec: Value) -> Value {
    let status = json!({"currentMetrics": null, "desiredReplicas": 0});
    json!({"apiVersion": "autoscaling/v2", "kind": KIND, "metadata": {"name": "a"}, "spec": spec, "status": status})
}

#[test]
fn fields_that_v1_lacks_are_kept_in_annotations() {
    let stored = v2(json!({
        "maxReplicas": 3, "minReplicas": 1, "scaleTargetRef": {"kind": "ReplicationController", "name": "d"},
        "behavior": {"scaleDown": {"policies": [{"periodSeconds": 5, "type": "Pods", "value": 1}], "selectPolicy": "Max"}},
        "metrics": [{"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}}],
    }));
    let seen = convert(stored.clone(), V2, V1, KIND);
    let annotations = &seen["metadata"]["annotations"];
    assert_eq!(
        annotations["autoscaling.alpha.kubernetes.io/metrics"],
        r#"[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]"#
    );
    assert_eq!(
        annotations["autoscaling.alpha.kubernetes.io/behavior"],
        r#"{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":5}],"Tolerance":null}}"#
    );
    assert_eq!(
        seen["status"],
        json!({"currentReplicas": 0, "desiredReplicas": 0})
    );
    let back = convert(seen, V1, V2, KIND);
    assert_eq!(back["spec"], stored["spec"]);
    assert!(back["metadata"].get("annotations").is_none());
}

#[test]
fn the_cpu_target_has_a_field_of_its_own() {
    let old = json!({"apiVersion": "autoscaling/v1", "kind": KIND, "metadata": {"name": "a"},
        "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50, "scaleTargetRef": {}}});
    let new = convert(old, V1, V2, KIND);
    let target = &new["spec"]["metrics"][0]["resource"]["target"];
    assert_eq!(
        *target,
        json!({"type": "Utilization", "averageUtilization": 50})
    );
    let seen = convert(new, V2, V1, KIND);
    assert_eq!(seen["spec"]["targetCPUUtilizationPercentage"], 50);
    assert!(seen["metadata"].get("annotations").is_none());
}

#[test]
fn every_kind_of_metric_survives_the_trip() {
    let object = json!({"kind": "Service", "name": "s", "apiVersion": "v1"});
    let selector = json!({"matchLabels": {"a": "b"}});
    let stored = v2(
        json!({"maxReplicas": 3, "scaleTargetRef": {"kind": "D", "name": "d"}, "metrics": [
            {"type": "Object", "object": {"describedObject": object, "metric": {"name": "m", "selector": selector}, "target": {"type": "Value", "value": "5"}}},
            {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "5"}}},
            {"type": "External", "external": {"metric": {"name": "m", "selector": selector}, "target": {"type": "Value", "value": "5"}}},
            {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c", "target": {"type": "Utilization", "averageUtilization": 7}}},
        ]}),
    );
    let back = convert(convert(stored.clone(), V2, V1, KIND), V1, V2, KIND);
    assert_eq!(back["spec"], stored["spec"]);
}
