//! Keys and values of etcd.

use serde_json::json;

use super::*;

#[test]
fn every_stored_kind_has_a_place_of_its_own() {
    assert!(PLACES.all.len() > 50);
    assert_eq!(PLACES.by_path.len(), PLACES.all.len());
    let layout = StorageLayout::json();
    for place in &PLACES.all {
        let key = Key::new(place.collection.clone(), "ns/x");
        let name = layout.name(&key).unwrap();
        assert_eq!(layout.key(&name), Some(key), "{name}");
    }
}

#[test]
fn keys_that_are_not_objects_have_none() {
    let layout = StorageLayout::json();
    for name in [
        "ranges/serviceips",
        "health",
        "services/other/default/x",
        "pods/",
    ] {
        assert_eq!(layout.key(name), None, "{name}");
    }
    let custom = layout.key("sky.example.com/stars/default/sun");
    assert_eq!(
        custom,
        Some(Key::new("sky.example.com/stars", "default/sun"))
    );
}

#[test]
fn both_forms_give_the_same_object() {
    let key = Key::new("apps/deployments", "default/web");
    let object = json!({
        "kind": "Deployment", "apiVersion": "apps/v1",
        "metadata": {"name": "web", "namespace": "default", "uid": "u"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i", "resources": {}}]}},
            "strategy": {},
        },
        "status": {},
    });
    let ty = kubewright_catalog::kind_type("apps", "v1", "Deployment").unwrap();
    let written = payload(&normalize_typed(object, ty).unwrap());
    for layout in [StorageLayout::json(), StorageLayout::protobuf()] {
        let value = layout.encode(&key, &written).unwrap();
        let read = layout.decode(&key, &value).unwrap();
        assert_eq!(read.bytes, written.bytes);
        assert_eq!(read.revision_at, written.revision_at);
    }
}

#[test]
fn another_version_of_a_kind_is_converted() {
    let key = Key::new("autoscaling/horizontalpodautoscalers", "default/web");
    let value = json!({
        "kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v1",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50, "scaleTargetRef": {"kind": "Deployment", "name": "web"}},
    });
    let value = Bytes::from(value.to_string());
    let read = StorageLayout::json().decode(&key, &value).unwrap();
    let read: Value = serde_json::from_slice(&read.bytes).unwrap();
    assert_eq!(read["apiVersion"], "autoscaling/v2");
    assert_eq!(read["spec"]["metrics"][0]["type"], "Resource");
}

#[test]
fn no_value_causes_a_panic() {
    let layout = StorageLayout::protobuf();
    let key = Key::new("pods", "default/x");
    for value in [
        "",
        "{",
        "{}",
        "[]",
        "k8s\0",
        "k8s\0\x0a\x7f",
        "k8s:enc:aescbc:v1:k:x",
    ] {
        let value = Bytes::from_static(value.as_bytes());
        let _ = layout.decode(&key, &value);
    }
}

/// The collections, keys, versions and kinds that kube-apiserver 1.36 stores, as its own storage test expects them.
const STORED: &str = "\
configmaps configmaps/ns/x v1 ConfigMap
services services/specs/ns/x v1 Service
podtemplates podtemplates/ns/x v1 PodTemplate
pods pods/ns/x v1 Pod
endpoints services/endpoints/ns/x v1 Endpoints
resourcequotas resourcequotas/ns/x v1 ResourceQuota
limitranges limitranges/ns/x v1 LimitRange
namespaces namespaces/x v1 Namespace
nodes minions/x v1 Node
persistentvolumes persistentvolumes/x v1 PersistentVolume
events events/ns/x v1 Event
persistentvolumeclaims persistentvolumeclaims/ns/x v1 PersistentVolumeClaim
serviceaccounts serviceaccounts/ns/x v1 ServiceAccount
secrets secrets/ns/x v1 Secret
replicationcontrollers controllers/ns/x v1 ReplicationController
apps/daemonsets daemonsets/ns/x apps/v1 DaemonSet
apps/deployments deployments/ns/x apps/v1 Deployment
apps/statefulsets statefulsets/ns/x apps/v1 StatefulSet
apps/replicasets replicasets/ns/x apps/v1 ReplicaSet
apps/controllerrevisions controllerrevisions/ns/x apps/v1 ControllerRevision
autoscaling/horizontalpodautoscalers horizontalpodautoscalers/ns/x autoscaling/v2 HorizontalPodAutoscaler
batch/jobs jobs/ns/x batch/v1 Job
batch/cronjobs cronjobs/ns/x batch/v1 CronJob
certificates.k8s.io/certificatesigningrequests certificatesigningrequests/x certificates.k8s.io/v1 CertificateSigningRequest
coordination.k8s.io/leases leases/ns/x coordination.k8s.io/v1 Lease
discovery.k8s.io/endpointslices endpointslices/ns/x discovery.k8s.io/v1 EndpointSlice
networking.k8s.io/ingresses ingress/ns/x networking.k8s.io/v1 Ingress
networking.k8s.io/ingressclasses ingressclasses/x networking.k8s.io/v1 IngressClass
networking.k8s.io/networkpolicies networkpolicies/ns/x networking.k8s.io/v1 NetworkPolicy
networking.k8s.io/ipaddresses ipaddresses/x networking.k8s.io/v1 IPAddress
networking.k8s.io/servicecidrs servicecidrs/x networking.k8s.io/v1 ServiceCIDR
policy/poddisruptionbudgets poddisruptionbudgets/ns/x policy/v1 PodDisruptionBudget
flowcontrol.apiserver.k8s.io/flowschemas flowschemas/x flowcontrol.apiserver.k8s.io/v1 FlowSchema
flowcontrol.apiserver.k8s.io/prioritylevelconfigurations prioritylevelconfigurations/x flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration
storage.k8s.io/volumeattachments volumeattachments/x storage.k8s.io/v1 VolumeAttachment
storage.k8s.io/volumeattributesclasses volumeattributesclasses/x storage.k8s.io/v1 VolumeAttributesClass
storage.k8s.io/storageclasses storageclasses/x storage.k8s.io/v1 StorageClass
storage.k8s.io/csistoragecapacities csistoragecapacities/ns/x storage.k8s.io/v1 CSIStorageCapacity
storage.k8s.io/csinodes csinodes/x storage.k8s.io/v1 CSINode
storage.k8s.io/csidrivers csidrivers/x storage.k8s.io/v1 CSIDriver
rbac.authorization.k8s.io/roles roles/ns/x rbac.authorization.k8s.io/v1 Role
rbac.authorization.k8s.io/clusterroles clusterroles/x rbac.authorization.k8s.io/v1 ClusterRole
rbac.authorization.k8s.io/rolebindings rolebindings/ns/x rbac.authorization.k8s.io/v1 RoleBinding
rbac.authorization.k8s.io/clusterrolebindings clusterrolebindings/x rbac.authorization.k8s.io/v1 ClusterRoleBinding
admissionregistration.k8s.io/validatingwebhookconfigurations validatingwebhookconfigurations/x admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration
admissionregistration.k8s.io/mutatingwebhookconfigurations mutatingwebhookconfigurations/x admissionregistration.k8s.io/v1 MutatingWebhookConfiguration
admissionregistration.k8s.io/validatingadmissionpolicies validatingadmissionpolicies/x admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy
admissionregistration.k8s.io/validatingadmissionpolicybindings validatingadmissionpolicybindings/x admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding
admissionregistration.k8s.io/mutatingadmissionpolicies mutatingadmissionpolicies/x admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicy
admissionregistration.k8s.io/mutatingadmissionpolicybindings mutatingadmissionpolicybindings/x admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicyBinding
scheduling.k8s.io/priorityclasses priorityclasses/x scheduling.k8s.io/v1 PriorityClass
apiregistration.k8s.io/apiservices apiregistration.k8s.io/apiservices/x apiregistration.k8s.io/v1 APIService
apiextensions.k8s.io/customresourcedefinitions apiextensions.k8s.io/customresourcedefinitions/x apiextensions.k8s.io/v1beta1 CustomResourceDefinition
node.k8s.io/runtimeclasses runtimeclasses/x node.k8s.io/v1 RuntimeClass
resource.k8s.io/deviceclasses deviceclasses/x resource.k8s.io/v1 DeviceClass
resource.k8s.io/resourceclaims resourceclaims/ns/x resource.k8s.io/v1 ResourceClaim
resource.k8s.io/resourceclaimtemplates resourceclaimtemplates/ns/x resource.k8s.io/v1 ResourceClaimTemplate
resource.k8s.io/resourceslices resourceslices/x resource.k8s.io/v1 ResourceSlice
";

/// Returns a value as kube-apiserver writes it in protobuf: the object in a version with the same fields.
fn protobuf(object: &Value, api_version: &str) -> Bytes {
    let field = |number: u8, bytes: &[u8]| -> Vec<u8> {
        let length = u8::try_from(bytes.len()).unwrap();
        assert!(length < 0x80);
        [&[number << 3 | 2, length], bytes].concat()
    };
    let kind = object["kind"].as_str().unwrap();
    let meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    let encoded = kubewright_protobuf::encode(object).unwrap();
    // The first field of the envelope has the version and the kind.
    let rest = &encoded[MAGIC.len() + 2 + usize::from(encoded[MAGIC.len() + 1])..];
    [&MAGIC[..], &field(1, &meta), rest].concat().into()
}

#[test]
fn every_kind_is_read_as_kube_apiserver_stores_it() {
    let (json, protobuf_layout) = (StorageLayout::json(), StorageLayout::protobuf());
    let mut listed = Vec::new();
    for line in STORED.lines() {
        let [collection, name, api_version, kind] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        listed.push(collection);
        let place = PLACES
            .of(collection)
            .unwrap_or_else(|| panic!("{collection} has no place"));
        assert_eq!(place.kind, kind);
        let path = &name[place.path.len() + 1..];
        let key = Key::new(collection, path);
        assert_eq!(json.name(&key).as_deref(), Some(name));
        assert_eq!(json.key(name), Some(key.clone()));

        let namespace = path.strip_suffix("/x");
        let mut object =
            json!({"kind": kind, "apiVersion": api_version, "metadata": {"name": "x"}});
        if let Some(namespace) = namespace {
            object["metadata"]["namespace"] = namespace.into();
        }
        let served = match place.group {
            "" => place.version.to_owned(),
            group => format!("{group}/{}", place.version),
        };
        let mut served_object = object.clone();
        served_object["apiVersion"] = served.clone().into();
        let mut values = vec![Bytes::from(object.to_string())];
        // CRDs are stored in JSON.
        if kind != "CustomResourceDefinition" {
            values.push(protobuf(&served_object, api_version));
        }
        for value in values {
            let read = json.decode(&key, &value);
            let read = read.unwrap_or_else(|error| panic!("{line}: {error}"));
            let decoded: Value = serde_json::from_slice(&read.bytes).unwrap();
            assert_eq!(decoded["apiVersion"], *served, "{line}");
            assert_eq!(decoded["kind"], kind);
            assert_eq!(decoded["metadata"]["name"], "x");
            assert_eq!(decoded["metadata"]["namespace"].as_str(), namespace);
            for layout in [&json, &protobuf_layout] {
                let written = layout.encode(&key, &read).unwrap();
                let again = layout.decode(&key, &written).unwrap();
                assert_eq!(again.bytes, read.bytes, "{line}");
            }
        }
    }
    for place in &PLACES.all {
        // Events of the two groups are the same objects.
        let is_listed = listed.contains(&&*place.collection) || place.kind == "Event";
        // Reviews are answered, and never stored; the leases of servers are stored, and not served.
        let is_review = place.kind.ends_with("Review");
        let is_lease = &*place.collection == StorageLayout::SERVER_LEASES;
        assert!(
            is_listed || is_review || is_lease,
            "{} is not in the table",
            place.collection
        );
    }
}
