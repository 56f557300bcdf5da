//! `OwnerReferencesPermissionEnforcement`: users who change the owners of an object must be allowed to delete it, and to change
//! the finalizers of owners whose deletion it blocks.

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    auth::{self, ResourceAttributes},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::{
    Status, go,
    json::{Read, same},
};
use serde_json::Value;

use super::{forbidden::forbidden, stored::Stored};

const DEFINITIONS: &str = "apiextensions.k8s.io/customresourcedefinitions";
const UNDELETABLE: &str = "cannot set an ownerRef on a resource you can't delete";
const UNFINALIZABLE: &str = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on";

/// The `OwnerReferencesPermissionEnforcement` plugin.
pub(crate) struct OwnerReferencesPermissionEnforcement(Stored);

/// The resource of an owner.
struct Owner {
    group: String,
    version: String,
    resource: String,
    namespaced: bool,
}

impl OwnerReferencesPermissionEnforcement {
    /// Returns a plugin that reads the custom resources of a store.
    pub(crate) fn new(store: Stored) -> Self {
        Self(store)
    }

    /// Returns the resource of a reference, of a built-in or a custom kind.
    async fn owner(&self, reference: &Value) -> Result<Owner, Status> {
        let (api_version, kind) = (reference["apiVersion"].text(), reference["kind"].text());
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let owner = |resource: &str, namespaced: bool| Owner {
            group: group.to_owned(),
            version: version.to_owned(),
            resource: resource.to_owned(),
            namespaced,
        };
        if let Some(info) = kubewright_catalog::by_kind(group, version, kind) {
            return Ok(owner(info.plural, info.namespaced));
        }
        let definitions: Vec<Value> = self.0.list(DEFINITIONS, String::new()).await?;
        let found = definitions.iter().find(|definition| {
            let spec = &definition["spec"];
            let mut versions = spec["versions"].items().iter();
            spec["group"] == group
                && spec["names"]["kind"] == kind
                && versions.any(|served| served["name"] == version && served["served"] == true)
        });
        match found {
            Some(definition) => {
                let spec = &definition["spec"];
                let plural = spec["names"]["plural"].text();
                Ok(owner(plural, spec["scope"] == "Namespaced"))
            }
            None => Err(no_match(api_version, kind)),
        }
    }
}

#[boxed_async]
impl Plugin for OwnerReferencesPermissionEnforcement {
    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        let Some(object) = object else { return Ok(()) };
        let info = &cx.info;
        let is_pod_status =
            info.group.is_empty() && info.resource == "pods" && info.subresource == "status";
        let old = attributes.old.unwrap_or(&Value::Null);
        let (old, new) = (owners(old), owners(object));
        if is_pod_status || same(old, new) {
            return Ok(());
        }
        let refuse = |cause: String| Err(forbidden(cx, attributes, object, cause));
        if attributes.operation != Operation::Create {
            let resource = ResourceAttributes {
                group: &info.group,
                version: &info.version,
                resource: &info.resource,
                subresource: &info.subresource,
                namespace: &info.namespace,
                name: attributes.name,
                ..ResourceAttributes::default()
            };
            if let Err(why) = ask(cx, "delete", resource).await {
                return refuse(format!("{UNDELETABLE}: {why}"));
            }
        }
        let blocking = new_blocking(old, new);
        let everything = ResourceAttributes {
            group: "*",
            version: "*",
            resource: "*",
            subresource: "finalizers",
            name: "*",
            ..ResourceAttributes::default()
        };
        if blocking.is_empty() || ask(cx, "update", everything).await.is_ok() {
            return Ok(());
        }
        for reference in blocking {
            let owner = match self.owner(reference).await {
                Ok(owner) => owner,
                Err(error) => {
                    let (version, kind) =
                        (reference["apiVersion"].text(), reference["kind"].text());
                    return refuse(format!(
                        "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion \
                         {version} Kind {kind}: {}",
                        error.message
                    ));
                }
            };
            let resource = ResourceAttributes {
                group: &owner.group,
                version: &owner.version,
                resource: &owner.resource,
                subresource: "finalizers",
                // An owner with a namespace is in that of the object.
                namespace: if owner.namespaced { cx.namespace() } else { "" },
                name: reference["name"].text(),
                ..ResourceAttributes::default()
            };
            if let Err(why) = ask(cx, "update", resource).await {
                return refuse(format!("{UNFINALIZABLE}: {why}"));
            }
        }
        Ok(())
    }
}

fn owners(object: &Value) -> &Value {
    &object["metadata"]["ownerReferences"]
}

/// Returns the references that block the deletion of their owner and did not before.
fn new_blocking<'a>(old: &Value, new: &'a Value) -> Vec<&'a Value> {
    let blocks = |reference: &&Value| reference["blockOwnerDeletion"] == true;
    let blocked = |uid: &Value| {
        old.items()
            .iter()
            .filter(blocks)
            .any(|old| old["uid"] == *uid)
    };
    let new = new.items().iter().filter(blocks);
    new.filter(|reference| !blocked(&reference["uid"]))
        .collect()
}

/// Asks for a permission. The error is the reason, and the error of the authorizer as Go prints it.
async fn ask(
    cx: &RequestContext,
    verb: &str,
    resource: ResourceAttributes<'_>,
) -> Result<(), String> {
    let asked = auth::Attributes::of_resource(&cx.user, verb, resource);
    let decision = cx.authorize(&asked).await;
    match decision.is_allow() {
        true => Ok(()),
        false => {
            let error = decision.error.as_deref().unwrap_or("<nil>");
            Err(format!("{}, {error}", decision.reason))
        }
    }
}

fn no_match(api_version: &str, kind: &str) -> Status {
    let (kind, version) = (go::quote(kind), go::quote(api_version));
    kubewright_machinery::status::unknown(format!(
        "no matches for kind {kind} in version {version}"
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kubewright_apiserver::auth::{Authorizer, Decision};
    use serde_json::json;

    use super::*;
    use crate::admission::testing::{Scene, pod};

    /// Allows these verbs on these resources and subresources.
    struct Allow(&'static [&'static str]);

    #[boxed_async]
    impl Authorizer for Allow {
        async fn authorize(&self, attributes: &auth::Attributes<'_>) -> Decision {
            let resource = attributes.resource().unwrap();
            let asked = format!(
                "{} {}/{} {}",
                attributes.verb, resource.resource, resource.subresource, resource.namespace
            );
            match self.0.contains(&asked.trim_end_matches(['/', ' '])) {
                true => Decision::allow(),
                false => Decision::no_opinion("not now"),
            }
        }
    }

    fn owned(kind: &str, blocks: bool) -> Value {
        let mut pod = pod();
        let version = if kind == "Widget" {
            "example.com/v1"
        } else {
            "v1"
        };
        pod["metadata"]["ownerReferences"] = json!([{
            "apiVersion": version, "kind": kind, "name": "o", "uid": "u", "blockOwnerDeletion": blocks,
        }]);
        pod
    }

    fn scene(allow: &'static [&'static str]) -> (Scene, OwnerReferencesPermissionEnforcement) {
        let scene = Scene::new("", "pods").with_authorizer(Arc::new(Allow(allow)));
        let plugin = OwnerReferencesPermissionEnforcement::new(scene.store());
        (scene, plugin)
    }

    #[tokio::test]
    async fn new_owners_of_an_object_need_the_permission_to_delete_it() {
        let (nobody, plugin) = scene(&[]);
        let owned = owned("Node", false);
        nobody.create(&plugin, &owned).await.unwrap();
        nobody.update(&plugin, &owned, &owned).await.unwrap();
        let refused = nobody.update(&plugin, &pod(), &owned).await.unwrap_err();
        assert_eq!(
            refused.message,
            format!("pods \"p\" is forbidden: {UNDELETABLE}: not now, <nil>")
        );
        let (deleter, plugin) = scene(&["delete pods/ ns"]);
        deleter.update(&plugin, &pod(), &owned).await.unwrap();
    }

    #[tokio::test]
    async fn blocking_a_deletion_needs_the_permission_for_finalizers() {
        let (nobody, plugin) = scene(&[]);
        for kind in ["Node", "ConfigMap"] {
            let refused = nobody
                .create(&plugin, &owned(kind, true))
                .await
                .unwrap_err();
            assert!(
                refused.message.contains(UNFINALIZABLE),
                "{}",
                refused.message
            );
        }
        let refused = nobody
            .create(&plugin, &owned("Widget", true))
            .await
            .unwrap_err();
        assert_eq!(
            refused.message,
            "pods \"p\" is forbidden: cannot set blockOwnerDeletion in this case because cannot find RESTMapping for \
             APIVersion example.com/v1 Kind Widget: no matches for kind \"Widget\" in version \"example.com/v1\""
        );
        let allowed = [
            "update nodes/finalizers",
            "update configmaps/finalizers ns",
            "update widgets/finalizers ns",
        ];
        let (scene, plugin) = scene(Box::leak(Box::new(allowed)));
        let versions = json!([{"name": "v1", "served": true}]);
        let names = json!({"kind": "Widget", "plural": "widgets"});
        let spec = json!({"group": "example.com", "names": names, "scope": "Namespaced", "versions": versions});
        scene
            .put(DEFINITIONS, "widgets.example.com", json!({"spec": spec}))
            .await;
        for kind in ["Node", "ConfigMap", "Widget"] {
            scene.create(&plugin, &owned(kind, true)).await.unwrap();
        }
    }
}
