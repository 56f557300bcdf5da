use serde_json::json;

use super::{assert_row, cell, cells};

#[test]
fn volumes_show_canonical_capacity_and_short_modes() {
    let volume = json!({
        "spec": {
            "capacity": {"storage": "1024Mi"},
            "accessModes": ["ReadWriteMany", "ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod"],
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": "a", "name": "b"},
            "storageClassName": "fast",
            "volumeMode": "Block",
        },
        "status": {"phase": "Bound", "reason": "because"},
    });
    assert_row(
        cells("", "PersistentVolume", volume),
        json!([
            "it",
            "1Gi",
            "RWO,RWX,RWOP",
            "Retain",
            "Bound",
            "a/b",
            "fast",
            "<unset>",
            "because",
            "5m",
            "Block",
        ]),
    );
}

#[test]
fn volumes_without_capacity_hold_zero() {
    assert_eq!(cell("", "PersistentVolume", "Capacity", json!({})), "0");
}

#[test]
fn the_beta_annotation_names_the_storage_class_first() {
    let volume = json!({
        "metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "beta"}},
        "spec": {"storageClassName": "fast"},
    });
    assert_eq!(
        cell("", "PersistentVolume", "StorageClass", volume.clone()),
        "beta"
    );
    assert_eq!(
        cell("", "PersistentVolumeClaim", "StorageClass", volume),
        "beta"
    );
}

#[test]
fn volumes_and_claims_that_are_deleted_are_terminating() {
    let object = json!({
        "metadata": {"deletionTimestamp": "2026-01-01T23:59:00Z"},
        "status": {"phase": "Bound"},
    });
    assert_eq!(
        cell("", "PersistentVolume", "Status", object.clone()),
        "Terminating"
    );
    assert_eq!(
        cell("", "PersistentVolumeClaim", "Status", object),
        "Terminating"
    );
}

#[test]
fn claims_show_capacity_and_modes_only_once_bound() {
    let mut claim = json!({
        "spec": {"volumeAttributesClassName": "gold", "volumeMode": "Filesystem"},
        "status": {
            "phase": "Pending", "capacity": {"storage": "2Gi"}, "accessModes": ["ReadOnlyMany"],
        },
    });
    assert_row(
        cells("", "PersistentVolumeClaim", claim.clone()),
        json!(["it", "Pending", "", "", "", "", "gold", "5m", "Filesystem"]),
    );
    claim["spec"]["volumeName"] = json!("v");
    assert_row(
        cells("", "PersistentVolumeClaim", claim),
        json!([
            "it",
            "Pending",
            "v",
            "2Gi",
            "ROX",
            "",
            "gold",
            "5m",
            "Filesystem"
        ]),
    );
}

#[test]
fn storage_classes_show_defaults_and_mark_the_default_class() {
    let class = json!({
        "metadata": {"annotations": {"storageclass.beta.kubernetes.io/is-default-class": "true"}},
        "provisioner": "example.com/p",
    });
    assert_row(
        cells("storage.k8s.io", "StorageClass", class),
        json!([
            "it (default)",
            "example.com/p",
            "Delete",
            "Immediate",
            false,
            "5m"
        ]),
    );
    let class = json!({
        "provisioner": "example.com/p", "reclaimPolicy": "Retain",
        "volumeBindingMode": "WaitForFirstConsumer", "allowVolumeExpansion": true,
    });
    assert_row(
        cells("storage.k8s.io", "StorageClass", class),
        json!([
            "it",
            "example.com/p",
            "Retain",
            "WaitForFirstConsumer",
            true,
            "5m"
        ]),
    );
}

#[test]
fn drivers_show_what_they_need() {
    let driver = json!({"spec": {
        "attachRequired": false, "podInfoOnMount": true, "storageCapacity": true,
        "requiresRepublish": true, "tokenRequests": [{"audience": "a"}, {"audience": "b"}],
        "volumeLifecycleModes": ["Persistent", "Ephemeral"],
    }});
    assert_row(
        cells("storage.k8s.io", "CSIDriver", driver),
        json!([
            "it",
            false,
            true,
            true,
            "a,b",
            true,
            "Persistent,Ephemeral",
            "5m"
        ]),
    );
    assert_row(
        cells("storage.k8s.io", "CSIDriver", json!({})),
        json!(["it", true, false, false, "<unset>", false, "<none>", "5m"]),
    );
}

#[test]
fn driver_nodes_show_how_many_drivers_they_have() {
    let node = json!({"spec": {"drivers": [{}, {}]}});
    assert_row(
        cells("storage.k8s.io", "CSINode", node),
        json!(["it", 2, "5m"]),
    );
}

#[test]
fn attachments_show_volume_and_node() {
    let attachment = json!({
        "spec": {
            "attacher": "example.com", "nodeName": "node-1",
            "source": {"persistentVolumeName": "v"},
        },
        "status": {"attached": true},
    });
    assert_row(
        cells("storage.k8s.io", "VolumeAttachment", attachment),
        json!(["it", "example.com", "v", "node-1", true, "5m"]),
    );
}

#[test]
fn attribute_classes_show_their_driver() {
    let class = json!({"driverName": "example.com"});
    let row = cells("storage.k8s.io", "VolumeAttributesClass", class);
    assert_row(row, json!(["it", "example.com", "5m"]));
}

#[test]
fn claims_on_devices_show_their_state() {
    let state = |status, is_deleting| {
        let mut claim = json!({"status": status});
        if is_deleting {
            claim["metadata"]["deletionTimestamp"] = json!("2026-01-01T23:59:00Z");
        }
        cell("resource.k8s.io", "ResourceClaim", "State", claim)
    };
    let reserved = json!({"allocation": {}, "reservedFor": [{}]});
    assert_eq!(state(json!({}), false), "pending");
    assert_eq!(state(json!({"allocation": {}}), false), "allocated");
    assert_eq!(state(reserved.clone(), false), "allocated,reserved");
    assert_eq!(state(json!({}), true), "deleted");
    assert_eq!(state(reserved, true), "deleted,allocated,reserved");
}

#[test]
fn slices_of_devices_show_node_driver_and_pool() {
    let slice = json!({"spec": {"nodeName": "n", "driver": "d.io", "pool": {"name": "p"}}});
    assert_row(
        cells("resource.k8s.io", "ResourceSlice", slice),
        json!(["it", "n", "d.io", "p", "5m"]),
    );
}

#[test]
fn device_classes_and_claim_templates_show_name_and_age() {
    assert_row(
        cells("resource.k8s.io", "DeviceClass", json!({})),
        json!(["it", "5m"]),
    );
    assert_row(
        cells("resource.k8s.io", "ResourceClaimTemplate", json!({})),
        json!(["it", "5m"]),
    );
}

#[test]
fn device_taints_show_the_taint() {
    let taint = json!({"key": "k", "value": "v", "effect": "NoExecute", "timeAdded": "2026-01-01T23:59:00Z"});
    assert_row(
        cells(
            "resource.k8s.io",
            "DeviceTaintRule",
            json!({"spec": {"taint": taint}}),
        ),
        json!(["it", "k", "v", "NoExecute", "60s", "5m"]),
    );
    assert_eq!(
        cell("resource.k8s.io", "DeviceTaintRule", "TimeAdded", json!({})),
        ""
    );
}

#[test]
fn pool_status_requests_add_up_their_pools() {
    let request = json!({
        "spec": {"driver": "d.io"},
        "status": {
            "poolCount": 3,
            "pools": [
                {"totalDevices": 4, "availableDevices": 1, "allocatedDevices": 2, "unavailableDevices": 1},
                {"totalDevices": 2, "validationError": "incomplete"},
            ],
            "conditions": [{
                "type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T23:59:00Z",
            }],
        },
    });
    assert_row(
        cells("resource.k8s.io", "ResourcePoolStatusRequest", request),
        json!([
            "it",
            "d.io",
            "6",
            "1",
            "2",
            "1",
            "1",
            3,
            "Complete (2/3 pools)",
            "60s"
        ]),
    );
}

#[test]
fn pool_status_requests_count_nothing_before_and_after_failing() {
    let failed = json!({"status": {
        "pools": [{"totalDevices": 4}],
        "conditions": [{"type": "Failed", "status": "True"}],
    }});
    assert_row(
        cells("resource.k8s.io", "ResourcePoolStatusRequest", failed),
        json!(["it", "", "-", "-", "-", "-", "-", 0, "Failed", "<none>"]),
    );
    assert_row(
        cells("resource.k8s.io", "ResourcePoolStatusRequest", json!({})),
        json!(["it", "", "-", "-", "-", "-", "-", 0, "Pending", "<none>"]),
    );
}
