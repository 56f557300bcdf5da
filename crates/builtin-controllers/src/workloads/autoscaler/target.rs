//! The scale of a target.

use k8s_openapi::api::autoscaling::{v1::Scale, v2::HorizontalPodAutoscalerSpec};
use kubewright_machinery::gvk::{GroupKind, GroupResource, GroupVersion};

use super::sync::Pass;

/// Maximum attempts to write a scale after conflicts.
const ATTEMPTS: usize = 5;

impl Pass<'_> {
    /// Returns the resource of the target, and its scale.
    pub(super) async fn scale_of(
        &self,
        spec: &HorizontalPodAutoscalerSpec,
    ) -> Result<(GroupResource, Scale), String> {
        let target = &spec.scale_target_ref;
        let api_version = target.api_version.as_deref().unwrap_or_default();
        let version = GroupVersion::parse(api_version)
            .ok_or_else(|| format!("unexpected GroupVersion string: {api_version}"))?;
        let state = self.context.state();
        let kind = GroupKind::new(&version.group, &target.kind);
        let mapping = state.mapper.mapping(&kind, &[]).await;
        let resource = mapping
            .map_err(|error| error.to_string())?
            .resource
            .group_resource();
        let scale = state
            .scales
            .get(self.namespace, &resource, &target.name)
            .await;
        Ok((resource, scale.map_err(|error| error.to_string())?))
    }

    /// Writes the number of replicas into a scale.
    pub(super) async fn rescale(
        &self,
        target: &GroupResource,
        scale: &mut Scale,
        replicas: i32,
        spec: &HorizontalPodAutoscalerSpec,
    ) -> Result<(), String> {
        let scales = &self.context.state().scales;
        let mut attempt = 1;
        loop {
            scale.spec.get_or_insert_default().replicas = Some(replicas);
            match scales.update(self.namespace, target, scale).await {
                Err(error) if error.is_conflict() && attempt < ATTEMPTS => attempt += 1,
                updated => return updated.map(drop).map_err(|error| error.to_string()),
            }
            let name = &spec.scale_target_ref.name;
            let latest = scales.get(self.namespace, target, name).await;
            *scale = latest.map_err(|error| error.to_string())?;
        }
    }
}
