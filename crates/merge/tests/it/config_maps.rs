//! Writes to a ConfigMap, the smallest kind.

use crate::types::{CONFIG_MAP, Type};
use kubewright_machinery::time::Time;
use kubewright_merge::managed::{Endpoint, OneVersion, update};
use serde_json::json;

#[test]
fn keys_of_maps_are_owned_one_by_one() {
    let versions = OneVersion::default();
    let endpoint = Endpoint {
        schema: Type(&CONFIG_MAP),
        api_version: "v1",
        kind: "ConfigMap",
        subresource: "",
        versions: &versions,
    };
    let empty = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}});
    let mut live = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "u"}, "data": {"a": "1"}});
    update(&empty, &mut live, &endpoint, "first", Time::from_unix(0, 0)).expect("tracked");
    let mut new = live.clone();
    new["data"]["b"] = json!("2");
    update(&live, &mut new, &endpoint, "second", Time::from_unix(60, 0)).expect("tracked");
    assert_eq!(
        new["metadata"]["managedFields"],
        json!([
            {"manager": "first", "operation": "Update", "apiVersion": "v1", "time": "1970-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {".": {}, "f:a": {}}}},
            {"manager": "second", "operation": "Update", "apiVersion": "v1", "time": "1970-01-01T00:01:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:b": {}}}},
        ])
    );
}
