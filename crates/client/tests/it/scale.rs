//! The scale client.

use kube::api::{DynamicObject, Patch, PatchParams};
use kubewright_client::{DynamicClient, ScaleClient};
use kubewright_machinery::gvk::GroupResource;
use serde_json::json;

use crate::target::Target;

#[tokio::test]
async fn replicas_are_read_set_and_patched() {
    let target = Target::start().await;
    let web: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": target.namespace},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web"}]}}},
    }))
    .unwrap();
    let dynamic = DynamicClient::new(target.client.clone());
    let deployments = dynamic.for_object(&web).await.unwrap();
    deployments
        .apply(&PatchParams::apply("me"), &web)
        .await
        .unwrap();

    let scales = ScaleClient::new(target.client.clone());
    let of = GroupResource::new("apps", "deployments");
    let mut scale = scales.get(&target.namespace, &of, "web").await.unwrap();
    assert_eq!(scale.spec.as_ref().unwrap().replicas, Some(2));
    assert_eq!(
        scale.status.as_ref().unwrap().selector.as_deref(),
        Some("app=web")
    );

    scale.spec.as_mut().unwrap().replicas = Some(3);
    scales.update(&target.namespace, &of, &scale).await.unwrap();
    let stale = scales.update(&target.namespace, &of, &scale).await;
    assert!(stale.unwrap_err().is_conflict());
    let four = Patch::Merge(json!({"spec": {"replicas": 4}}));
    let patched = scales
        .patch(
            &target.namespace,
            &of,
            "web",
            &PatchParams::default(),
            &four,
        )
        .await;
    assert_eq!(patched.unwrap().spec.unwrap().replicas, Some(4));
    assert_eq!(
        deployments.get("web").await.unwrap().data["spec"]["replicas"],
        4
    );

    let none = scales
        .get(
            &target.namespace,
            &GroupResource::new("", "configmaps"),
            "a",
        )
        .await;
    assert!(none.unwrap_err().is_not_found());
    let unknown = scales
        .get(&target.namespace, &GroupResource::new("", "nothings"), "a")
        .await;
    assert!(unknown.unwrap_err().to_string().contains("no matches for"));
    deployments
        .delete("web", &Default::default())
        .await
        .unwrap();
    target.clean_up().await;
}
