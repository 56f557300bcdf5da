//! The rules by kind. Kinds that are not listed follow the general case.

use crate::{
    KindRules, admissionregistration as admission, apiextensions, apiregistration, apps,
    authentication, autoscaling, batch, certificates, coordination, core, discovery, flowcontrol,
    networking, node, policy, rbac, resource, scheduling, storage,
};

/// The rules of a kind that has some.
pub(crate) fn find(group: &str, kind: &str) -> Option<&'static KindRules> {
    Some(match (group, kind) {
        ("", kind) => return find_core(kind),
        ("admissionregistration.k8s.io", kind) => return find_admission(kind),
        ("storage.k8s.io", kind) => return find_storage(kind),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            &apiextensions::custom_resource_definition::RULES
        }
        ("apiregistration.k8s.io", "APIService") => &apiregistration::api_service::RULES,
        ("apps", "ControllerRevision") => &apps::controller_revision::RULES,
        ("apps", "DaemonSet") => &apps::daemon_set::RULES,
        ("apps", "Deployment") => &apps::deployment::RULES,
        ("apps", "ReplicaSet") => &apps::replica_set::RULES,
        ("apps", "StatefulSet") => &apps::stateful_set::RULES,
        ("authentication.k8s.io", "TokenRequest") => &authentication::token_request::RULES,
        ("autoscaling", "HorizontalPodAutoscaler") => {
            &autoscaling::horizontal_pod_autoscaler::RULES
        }
        ("batch", "CronJob") => &batch::cron_job::RULES,
        ("batch", "Job") => &batch::job::RULES,
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            &certificates::certificate_signing_request::RULES
        }
        ("coordination.k8s.io", "Lease") => &coordination::lease::RULES,
        ("coordination.k8s.io", "LeaseCandidate") => &coordination::lease::CANDIDATE_RULES,
        ("discovery.k8s.io", "EndpointSlice") => &discovery::endpoint_slice::RULES,
        ("events.k8s.io", "Event") => &core::event::STRICT_RULES,
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => &flowcontrol::flow_schema::RULES,
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => {
            &flowcontrol::priority_level_configuration::RULES
        }
        ("networking.k8s.io", "IPAddress") => &networking::ip_address::RULES,
        ("networking.k8s.io", "Ingress") => &networking::ingress::RULES,
        ("networking.k8s.io", "IngressClass") => &networking::ingress_class::RULES,
        ("networking.k8s.io", "NetworkPolicy") => &networking::network_policy::RULES,
        ("networking.k8s.io", "ServiceCIDR") => &networking::service_cidr::RULES,
        ("node.k8s.io", "RuntimeClass") => &node::runtime_class::RULES,
        ("policy", "PodDisruptionBudget") => &policy::pod_disruption_budget::RULES,
        (rbac::GROUP, "ClusterRole") => &rbac::role::CLUSTER_RULES,
        (rbac::GROUP, "ClusterRoleBinding") => &rbac::binding::CLUSTER_RULES,
        (rbac::GROUP, "Role") => &rbac::role::RULES,
        (rbac::GROUP, "RoleBinding") => &rbac::binding::RULES,
        ("resource.k8s.io", "DeviceClass") => &resource::DEVICE_CLASS_RULES,
        ("resource.k8s.io", "DeviceTaintRule") => &resource::TAINT_RULE_RULES,
        ("resource.k8s.io", "ResourceClaim") => &resource::CLAIM_RULES,
        ("resource.k8s.io", "ResourceClaimTemplate") => &resource::CLAIM_TEMPLATE_RULES,
        ("resource.k8s.io", "ResourceSlice") => &resource::SLICE_RULES,
        ("scheduling.k8s.io", "PriorityClass") => &scheduling::priority_class::RULES,
        _ => return None,
    })
}

fn find_core(kind: &str) -> Option<&'static KindRules> {
    Some(match kind {
        "ComponentStatus" => &core::component_status::RULES,
        "ConfigMap" => &core::config_map::RULES,
        "Endpoints" => &core::endpoints::RULES,
        "Event" => &core::event::RULES,
        "LimitRange" => &core::limit_range::RULES,
        "Namespace" => &core::namespace::RULES,
        "Node" => &core::node::RULES,
        "PersistentVolume" => &core::persistent_volume::RULES,
        "PersistentVolumeClaim" => &core::persistent_volume_claim::RULES,
        "Pod" => &core::pod::RULES,
        "PodTemplate" => &core::pod_template::RULES,
        "ReplicationController" => &core::replication_controller::RULES,
        "ResourceQuota" => &core::resource_quota::RULES,
        "Secret" => &core::secret::RULES,
        "Service" => &core::service::RULES,
        "ServiceAccount" => &core::service_account::RULES,
        _ => return None,
    })
}

fn find_admission(kind: &str) -> Option<&'static KindRules> {
    Some(match kind {
        "MutatingAdmissionPolicy" => &admission::policy::MUTATING_RULES,
        "MutatingAdmissionPolicyBinding" => &admission::policy_binding::MUTATING_RULES,
        "MutatingWebhookConfiguration" => &admission::webhook_configuration::MUTATING_RULES,
        "ValidatingAdmissionPolicy" => &admission::policy::VALIDATING_RULES,
        "ValidatingAdmissionPolicyBinding" => &admission::policy_binding::VALIDATING_RULES,
        "ValidatingWebhookConfiguration" => &admission::webhook_configuration::VALIDATING_RULES,
        _ => return None,
    })
}

fn find_storage(kind: &str) -> Option<&'static KindRules> {
    Some(match kind {
        "CSIDriver" => &storage::csi_driver::RULES,
        "CSINode" => &storage::csi_node::RULES,
        "CSIStorageCapacity" => &storage::csi_storage_capacity::RULES,
        "StorageClass" => &storage::storage_class::RULES,
        "VolumeAttachment" => &storage::volume_attachment::RULES,
        "VolumeAttributesClass" => &storage::volume_attributes_class::RULES,
        _ => return None,
    })
}
