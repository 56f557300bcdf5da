//! `StorageObjectInUseProtection`: adds a finalizer to volumes, claims and volume attribute classes, which a controller
//! removes once they are not in use.

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::{Status, json::Read};
use serde_json::{Value, json};

use super::{fields::push, forbidden::is_for};

/// The finalizer of each protected resource.
const PROTECTED: [(&str, &str, &str); 3] = [
    ("", "persistentvolumes", "kubernetes.io/pv-protection"),
    ("", "persistentvolumeclaims", "kubernetes.io/pvc-protection"),
    (
        "storage.k8s.io",
        "volumeattributesclasses",
        "kubernetes.io/vac-protection",
    ),
];

/// The `StorageObjectInUseProtection` plugin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StorageObjectInUseProtection;

#[boxed_async]
impl Plugin for StorageObjectInUseProtection {
    fn reads_updated(&self, _cx: &RequestContext) -> bool {
        false
    }

    async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Value>,
    ) -> Result<(), Status> {
        let Some(object) = object else { return Ok(()) };
        if attributes.operation == Operation::Create {
            let found = PROTECTED
                .iter()
                .find(|(group, resource, _)| is_for(cx, group, resource));
            if let Some((_, _, finalizer)) = found {
                protect(object, finalizer);
            }
        }
        Ok(())
    }
}

fn protect(object: &mut Value, finalizer: &str) {
    if !object["metadata"]["finalizers"]
        .items()
        .iter()
        .any(|f| f == finalizer)
    {
        push(object, &["metadata", "finalizers"], json!(finalizer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_finalizer_is_added_once_and_last() {
        let mut claim = json!({"metadata": {"name": "c", "finalizers": ["example.com/mine"]}});
        protect(&mut claim, PROTECTED[1].2);
        protect(&mut claim, PROTECTED[1].2);
        let expected = json!(["example.com/mine", "kubernetes.io/pvc-protection"]);
        assert_eq!(claim["metadata"]["finalizers"], expected);
    }
}
