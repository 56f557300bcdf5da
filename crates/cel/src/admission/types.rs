//! The types of `request` and `namespaceObject`.

use std::sync::{Arc, OnceLock};

use crate::decl::DeclType;
use crate::types::Type;

fn text() -> Arc<DeclType> {
    DeclType::scalar(Type::String)
}

fn texts() -> Arc<DeclType> {
    DeclType::list(text())
}

pub(super) fn request_type() -> &'static Arc<DeclType> {
    static TYPE: OnceLock<Arc<DeclType>> = OnceLock::new();
    TYPE.get_or_init(|| {
        let kind = DeclType::named_object(
            "kubernetes.GroupVersionKind",
            [("group", text()), ("version", text()), ("kind", text())],
        );
        let resource = DeclType::named_object(
            "kubernetes.GroupVersionResource",
            [("group", text()), ("version", text()), ("resource", text())],
        );
        let user = DeclType::named_object(
            "kubernetes.UserInfo",
            [
                ("username", text()),
                ("uid", text()),
                ("groups", texts()),
                (
                    "extra",
                    DeclType::scalar(Type::map(Type::String, Type::list(Type::String))),
                ),
            ],
        );
        DeclType::named_object(
            "kubernetes.AdmissionRequest",
            [
                ("kind", kind.clone()),
                ("resource", resource.clone()),
                ("subResource", text()),
                ("requestKind", kind),
                ("requestResource", resource),
                ("requestSubResource", text()),
                ("name", text()),
                ("namespace", text()),
                ("operation", text()),
                ("userInfo", user),
                ("dryRun", DeclType::scalar(Type::Bool)),
                ("options", DeclType::scalar(Type::Dyn)),
            ],
        )
    })
}

pub(super) fn namespace_type() -> &'static Arc<DeclType> {
    static TYPE: OnceLock<Arc<DeclType>> = OnceLock::new();
    TYPE.get_or_init(|| {
        let labels = || DeclType::scalar(Type::map(Type::String, Type::String));
        let time = || DeclType::scalar(Type::Timestamp);
        let metadata = DeclType::named_object(
            "kubernetes.NamespaceMetadata",
            [
                ("name", text()),
                ("generateName", text()),
                ("namespace", text()),
                ("labels", labels()),
                ("annotations", labels()),
                ("UID", text()),
                ("creationTimestamp", time()),
                ("deletionGracePeriodSeconds", DeclType::scalar(Type::Int)),
                ("deletionTimestamp", time()),
                ("generation", DeclType::scalar(Type::Int)),
                ("resourceVersion", text()),
                ("finalizers", texts()),
            ],
        );
        let spec = DeclType::named_object("kubernetes.NamespaceSpec", [("finalizers", texts())]);
        let condition = DeclType::named_object(
            "kubernetes.NamespaceCondition",
            [
                ("status", text()),
                ("type", text()),
                ("lastTransitionTime", time()),
                ("message", text()),
                ("reason", text()),
            ],
        );
        let status = DeclType::named_object(
            "kubernetes.NamespaceStatus",
            [("conditions", DeclType::list(condition)), ("phase", text())],
        );
        DeclType::named_object(
            "kubernetes.Namespace",
            [("metadata", metadata), ("spec", spec), ("status", status)],
        )
    })
}
