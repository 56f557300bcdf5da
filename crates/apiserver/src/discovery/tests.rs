use kubewright_catalog::types::StructType;
use kubewright_machinery::gvk::GroupVersionKind;
use serde_json::{Value, json};

use super::*;
use crate::registry::{
    Handlers, RegistryBuilder, Resource, ResourceSpec, Shape, Subresource, SubresourceKind,
};

const ALL: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

static ANY: StructType = StructType {
    name: "Any",
    openapi: "Any",
    fields: &[],
    atomic: false,
};

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| (*s).to_owned()).collect()
}

fn kind(group: &str, version: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind::new(group, version, kind)
}

fn sub(name: &str, kind: SubresourceKind, verbs: &[&str]) -> Subresource {
    Subresource {
        object: None,
        name: name.into(),
        kind,
        verbs: strings(verbs),
        handlers: Default::default(),
        default: None,
        field_manager: None,
        table: None,
    }
}

fn discovery() -> Discovery {
    let rest = ["get", "patch", "update"];
    let scale = || SubresourceKind::Other(kind("autoscaling", "v1", "Scale"), Shape::Untyped);

    let typed = |group: &str, kind_name: &str, plural: &str| ResourceSpec {
        shape: Shape::Typed(&ANY),
        ..ResourceSpec::new(kind(group, "v1", kind_name), plural)
    };
    let resource = |spec: ResourceSpec, subresources: Vec<Subresource>| {
        let resource = Resource::computed(spec, Handlers::default());
        subresources
            .into_iter()
            .fold(resource, Resource::with_subresource)
    };
    let namespaces = resource(
        ResourceSpec {
            verbs: strings(&["create", "get"]),
            short_names: strings(&["ns"]),
            storage_version_hash: "Q3oi5N2YM8M=".into(),
            ..typed("", "Namespace", "namespaces")
        },
        vec![sub("finalize", SubresourceKind::Parent, &["update"])],
    );
    let eviction = SubresourceKind::Other(kind("policy", "v1", "Eviction"), Shape::Untyped);
    let pods = resource(
        ResourceSpec {
            verbs: strings(&ALL),
            categories: strings(&["all"]),
            ..typed("", "Pod", "pods").namespaced()
        },
        vec![sub("eviction", eviction, &["create"])],
    );
    let deployments = resource(
        ResourceSpec {
            verbs: strings(&["get"]),
            ..typed("apps", "Deployment", "deployments").namespaced()
        },
        vec![
            sub("scale", scale(), &rest),
            sub("status", SubresourceKind::Parent, &rest),
        ],
    );
    let gadget = |version| {
        ResourceSpec::new(kind("serve.example.com", version, "Gadget"), "gadgets").namespaced()
    };
    let gadgets = resource(
        ResourceSpec {
            verbs: strings(&["delete", "create"]),
            ..gadget("v1")
        },
        vec![
            sub("status", SubresourceKind::Parent, &rest),
            sub("scale", scale(), &rest),
        ],
    );
    let old = resource(gadget("v1beta1"), Vec::new());

    let mut builder = RegistryBuilder::default();
    for resource in [namespaces, pods, deployments, gadgets, old] {
        builder.add(resource);
    }
    Discovery::new(Arc::new(builder.build()), &[])
}

fn text(document: Legacy<'_>) -> String {
    String::from_utf8(discovery().legacy(document).unwrap().to_vec()).unwrap()
}

#[test]
fn legacy_documents_have_the_fields_and_order_of_the_real_ones() {
    assert_eq!(
        text(Legacy::Versions {
            server_address: "192.0.2.2:6443"
        }),
        r#"{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"192.0.2.2:6443"}]}"#
    );
    assert_eq!(
        text(Legacy::Group("apps")),
        r#"{"kind":"APIGroup","apiVersion":"v1","name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}}"#
    );
    assert_eq!(
        text(Legacy::Groups),
        r#"{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}},{"name":"serve.example.com","versions":[{"groupVersion":"serve.example.com/v1","version":"v1"},{"groupVersion":"serve.example.com/v1beta1","version":"v1beta1"}],"preferredVersion":{"groupVersion":"serve.example.com/v1","version":"v1"}}]}"#
    );
    assert_eq!(
        text(Legacy::Resources("", "v1")),
        r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"namespaces","singularName":"namespace","namespaced":false,"kind":"Namespace","verbs":["create","get"],"shortNames":["ns"],"storageVersionHash":"Q3oi5N2YM8M="},{"name":"namespaces/finalize","singularName":"","namespaced":false,"kind":"Namespace","verbs":["update"]},{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["create","delete","deletecollection","get","list","patch","update","watch"],"categories":["all"]},{"name":"pods/eviction","singularName":"","namespaced":true,"group":"policy","version":"v1","kind":"Eviction","verbs":["create"]}]}"#
    );
    assert_eq!(
        text(Legacy::Resources("apps", "v1")),
        r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps/v1","resources":[{"name":"deployments","singularName":"deployment","namespaced":true,"kind":"Deployment","verbs":["get"]},{"name":"deployments/scale","singularName":"","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale","verbs":["get","patch","update"]},{"name":"deployments/status","singularName":"","namespaced":true,"kind":"Deployment","verbs":["get","patch","update"]}]}"#
    );
}

#[test]
fn unserved_versions_have_no_document() {
    let discovery = discovery();
    for missing in [
        Legacy::Group("nope"),
        Legacy::Group(""),
        Legacy::Resources("apps", "v2"),
        Legacy::Resources("", "v2"),
        Legacy::Resources("nope", "v1"),
    ] {
        assert_eq!(discovery.legacy(missing), None, "{missing:?}");
    }
}

#[test]
fn aggregated_documents_tell_foreign_and_custom_kinds() {
    let discovery = discovery();
    let core = String::from_utf8(discovery.aggregated_core().json.to_vec()).unwrap();
    let start = r#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[{"metadata":{},"versions":[{"version":"v1","resources":[{"resource":"namespaces","responseKind":{"group":"","version":"","kind":"Namespace"},"scope":"Cluster","singularResource":"namespace","verbs":["create","get"],"shortNames":["ns"],"subresources":[{"subresource":"finalize","responseKind":{"group":"","version":"","kind":"Namespace"},"verbs":["update"]}]},"#;
    assert!(core.starts_with(start), "{core}");
    assert!(core.ends_with(r#""freshness":"Current"}]}]}"#), "{core}");
    assert!(core.contains(r#"{"subresource":"eviction","responseKind":{"group":"policy","version":"v1","kind":"Eviction"},"verbs":["create"]}"#));

    let groups: Value = serde_json::from_slice(&discovery.aggregated_groups().json).unwrap();
    assert_eq!(groups["items"][0]["metadata"], json!({"name": "apps"}));
    let gadgets = &groups["items"][1]["versions"][0]["resources"][0];
    assert_eq!(
        gadgets["responseKind"],
        json!({"group": "serve.example.com", "version": "v1", "kind": "Gadget"})
    );
    assert_eq!(
        gadgets["subresources"][0]["responseKind"]["group"],
        "serve.example.com"
    );
    assert_eq!(
        gadgets["subresources"][1]["responseKind"],
        json!({"group": "autoscaling", "version": "v1", "kind": "Scale"})
    );
    assert_eq!(groups["items"][1]["versions"][1]["version"], "v1beta1");
}

#[test]
fn known_documents_are_recognised_by_their_tag() {
    let discovery = discovery();
    let document = discovery.aggregated_groups();
    let tag = document.etag.to_str().unwrap();
    assert_eq!(tag.len(), 130, "128 digits and two quotes");
    assert!(
        tag[1..129]
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'A'..=b'F').contains(&b))
    );
    assert_ne!(document.etag, discovery.aggregated_core().etag);

    let mut request = http::HeaderMap::new();
    assert!(!document.is_known(&request));
    request.insert("if-none-match", document.etag.clone());
    assert!(document.is_known(&request));
    request.insert("if-none-match", format!("W/{tag}").parse().unwrap());
    assert!(!document.is_known(&request), "weak tags do not match");

    let headers = document.headers(Some(Format::Json));
    assert_eq!(headers["vary"], "Accept");
    assert_eq!(headers["cache-control"], "public");
    assert_eq!(
        headers["content-type"],
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    );
    assert_eq!(headers["etag"], tag);
    assert!(!document.headers(None).contains_key("content-type"));
}

#[test]
fn accept_headers_are_read_as_the_real_server_reads_them() {
    const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const BETA: &str = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
    let json = Some(Format::Json);
    let cases = [
        (V2.to_owned(), json),
        (
            "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io".into(),
            json,
        ),
        (format!("{V2},{BETA},application/json"), json),
        (format!("{BETA},{V2},application/json"), json),
        (format!("application/json,{V2}"), json),
        (format!("{V2};profile=nopeer, application/json"), json),
        (format!("{V2};foo=bar"), json),
        (format!("text/html;q=1,{V2};q=0.1"), json),
        (V2.replace("application/json", "*/*"), json),
        (V2.replace("application/json", "*"), json),
        (V2.replace("application/json", "application/*"), json),
        (V2.replace("json", "yaml"), Some(Format::Yaml)),
        (
            V2.replace("json", "vnd.kubernetes.protobuf"),
            Some(Format::Protobuf),
        ),
        (
            format!("{},{V2}", V2.replace("json", "vnd.kubernetes.protobuf")),
            Some(Format::Protobuf),
        ),
        (
            format!("{V2};q=0.5,{}", V2.replace("json", "yaml")),
            Some(Format::Yaml),
        ),
        (V2.replace("json", "cbor"), None),
        (BETA.to_owned(), None),
        (
            V2.replace("g=apidiscovery.k8s.io", "g=\"apidiscovery.k8s.io\""),
            None,
        ),
        (
            "application/json;v=v2;as=APIGroupDiscoveryList".into(),
            None,
        ),
        ("application/json;as=Table;v=v1;g=meta.k8s.io".into(), None),
        ("application/json;profile=nopeer".into(), None),
        ("application/json, */*".into(), None),
        ("text/plain".into(), None),
        (String::new(), None),
    ];
    for (accept, format) in cases {
        assert_eq!(aggregated_format(&accept), format, "{accept}");
    }
}
