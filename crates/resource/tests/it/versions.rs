//! Several versions of a kind.

use std::collections::BTreeMap;

use kubewright::{CustomKind, SameAsHub, Versions, VersionsError, round_trip};
use serde_json::json;

mod v1 {
    use kube::CustomResource;
    use kubewright::Schema;
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
    #[kube(
        group = "crew.example.com",
        version = "v1",
        kind = "Sailor",
        namespaced
    )]
    pub(super) struct SailorSpec {
        #[schema(max_length = 20, pattern = "^[a-z]+$")]
        pub(super) first: String,
        #[schema(max_length = 20, pattern = "^[a-z]+$")]
        pub(super) last: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) age: Option<u8>,
    }
}

mod v1beta1 {
    use kube::CustomResource;
    use kubewright::Schema;
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
    #[kube(
        group = "crew.example.com",
        version = "v1beta1",
        kind = "Sailor",
        namespaced
    )]
    #[kube(deprecated = "use v1")]
    pub(super) struct SailorSpec {
        #[schema(pattern = "^[a-z]+ [a-z]+$")]
        pub(super) name: String,
    }
}

/// Keeps what the older version has no place for.
const AGE: &str = "crew.example.com/age";

impl From<v1::Sailor> for v1beta1::Sailor {
    fn from(new: v1::Sailor) -> Self {
        let name = format!("{} {}", new.spec.first, new.spec.last);
        let mut old = v1beta1::Sailor::new("", v1beta1::SailorSpec { name });
        old.metadata = new.metadata;
        if let Some(age) = new.spec.age {
            let annotations = old.metadata.annotations.get_or_insert_with(BTreeMap::new);
            annotations.insert(AGE.to_owned(), age.to_string());
        }
        old
    }
}

impl TryFrom<v1beta1::Sailor> for v1::Sailor {
    type Error = String;

    fn try_from(mut old: v1beta1::Sailor) -> Result<Self, String> {
        let (first, last) = old
            .spec
            .name
            .split_once(' ')
            .ok_or("a name has two parts")?;
        let annotations = old.metadata.annotations.as_mut();
        let age = annotations
            .and_then(|a| a.remove(AGE))
            .and_then(|age| age.parse().ok());
        if old
            .metadata
            .annotations
            .as_ref()
            .is_some_and(BTreeMap::is_empty)
        {
            old.metadata.annotations = None;
        }
        let spec = v1::SailorSpec {
            first: first.to_owned(),
            last: last.to_owned(),
            age,
        };
        let mut new = v1::Sailor::new("", spec);
        new.metadata = old.metadata;
        Ok(new)
    }
}

fn sailors() -> Versions<v1::Sailor> {
    Versions::hub()
        .spoke::<v1beta1::Sailor>()
        .same_as_hub(SameAsHub::new("v1alpha1").deprecated_with("too old"))
}

#[test]
fn objects_are_converted_through_the_hub() {
    let object = json!({
        "apiVersion": "crew.example.com/v1alpha1", "kind": "Sailor",
        "metadata": {"name": "a", "uid": "1", "labels": {"x": "y"}, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"first": "ned", "last": "land", "age": 40},
    });
    let old = sailors()
        .convert(&object, "crew.example.com/v1beta1")
        .expect("converts");
    assert_eq!(old["apiVersion"], "crew.example.com/v1beta1");
    assert_eq!(old["spec"], json!({"name": "ned land"}));
    assert_eq!(old["metadata"]["annotations"], json!({AGE: "40"}));
    assert_eq!(
        old["metadata"]["creationTimestamp"],
        object["metadata"]["creationTimestamp"]
    );
    let back = sailors().convert(&old, "v1alpha1").expect("converts");
    assert_eq!(back, object);
}

#[test]
fn errors_of_conversions_say_why() {
    let mut object = json!({
        "apiVersion": "crew.example.com/v1beta1", "kind": "Sailor", "metadata": {"name": "a"},
        "spec": {"name": "ishmael"},
    });
    let error = |object: &serde_json::Value, to: &str| {
        sailors()
            .convert(object, to)
            .expect_err("refused")
            .to_string()
    };
    assert_eq!(
        error(&object, "v1"),
        "converting from v1beta1 to v1: a name has two parts"
    );
    assert_eq!(error(&object, "v9"), "version v9 is not known");
    object["kind"] = json!("Pirate");
    assert_eq!(
        error(&object, "v1"),
        "crew.example.com/v1beta1, Kind=Pirate cannot be converted to v1: another kind"
    );
}

#[test]
fn nothing_is_lost_on_the_way_there_and_back() {
    sailors().check_round_trips(200).expect("nothing is lost");
}

mod forgetful {
    use kube::CustomResource;
    use kubewright::Schema;
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
    #[kube(
        group = "crew.example.com",
        version = "v2",
        kind = "Sailor",
        namespaced
    )]
    pub(super) struct SailorSpec {
        pub(super) first: String,
        pub(super) last: String,
    }
}

impl From<v1::Sailor> for forgetful::Sailor {
    fn from(from: v1::Sailor) -> Self {
        let (first, last) = (from.spec.first, from.spec.last);
        let mut to = forgetful::Sailor::new("", forgetful::SailorSpec { first, last });
        to.metadata = from.metadata;
        to
    }
}

impl From<forgetful::Sailor> for v1::Sailor {
    fn from(from: forgetful::Sailor) -> Self {
        let (first, last) = (from.spec.first, from.spec.last);
        let mut to = v1::Sailor::new(
            "",
            v1::SailorSpec {
                first,
                last,
                age: None,
            },
        );
        to.metadata = from.metadata;
        to
    }
}

#[test]
fn lost_fields_are_found() {
    let lost = round_trip::<v1::Sailor, forgetful::Sailor>(200).expect_err("the age is lost");
    assert!(lost.reason.starts_with(".spec.age was "), "{lost}");
    assert!(lost.reason.ends_with(" and is missing"), "{lost}");
}

kubewright::round_trips!(sailors_lose_nothing: v1::Sailor, v1beta1::Sailor);

#[test]
fn lost_fields_are_shown_in_a_minimal_object() {
    let lost = round_trip::<v1::Sailor, forgetful::Sailor>(200).expect_err("the age is lost");
    let fields: Vec<&String> = lost.before["spec"]
        .as_object()
        .expect("a spec")
        .keys()
        .collect();
    assert_eq!(fields, ["age", "first", "last"]);
    let shown = format!("{lost:?}");
    let first = shown.lines().next().unwrap_or_default();
    assert!(
        first.starts_with("crew.example.com/v1 to crew.example.com/v2 and back: .spec.age was "),
        "{shown}"
    );
    assert!(
        shown.contains("cannot represent in an annotation"),
        "{shown}"
    );
}

#[test]
fn lists_are_shrunk_too() {
    mod from {
        use kube::CustomResource;
        use kubewright::Schema;
        use serde::{Deserialize, Serialize};

        #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
        #[kube(group = "crew.example.com", version = "v1", kind = "Fleet")]
        pub(super) struct FleetSpec {
            #[schema(max_items = 9)]
            pub(super) ships: Vec<String>,
            pub(super) flags: Option<Vec<String>>,
        }
    }
    mod to {
        use kube::CustomResource;
        use kubewright::Schema;
        use serde::{Deserialize, Serialize};

        #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
        #[kube(group = "crew.example.com", version = "v2", kind = "Fleet")]
        pub(super) struct FleetSpec {
            pub(super) flagship: Option<String>,
        }
    }
    impl From<from::Fleet> for to::Fleet {
        fn from(from: from::Fleet) -> Self {
            let flagship = from.spec.ships.into_iter().next();
            let spec = to::FleetSpec { flagship };
            to::Fleet {
                metadata: from.metadata,
                spec,
            }
        }
    }
    impl From<to::Fleet> for from::Fleet {
        fn from(to: to::Fleet) -> Self {
            let ships = to.spec.flagship.into_iter().collect();
            let spec = from::FleetSpec { ships, flags: None };
            from::Fleet {
                metadata: to.metadata,
                spec,
            }
        }
    }
    let lost = round_trip::<from::Fleet, to::Fleet>(200).expect_err("ships are lost");
    let spec = &lost.before["spec"];
    let size =
        spec["ships"].as_array().map_or(0, Vec::len) + spec["flags"].as_array().map_or(0, Vec::len);
    assert!(size <= 2, "{lost}");
}

#[test]
fn versions_that_do_not_belong_together_are_refused() {
    let twice = sailors().same_as_hub(SameAsHub::new("v1"));
    assert!(matches!(twice.manifest(), Err(VersionsError::Duplicate(v)) if v == "v1"));
    let nowhere = sailors().stored_as("v7");
    assert!(matches!(nowhere.manifest(), Err(VersionsError::NoStorageVersion(v)) if v == "v7"));
}

#[test]
fn a_webhook_and_the_stored_version_are_part_of_the_definition() {
    let manifest = sailors()
        .stored_as("v1beta1")
        .webhook(json!({"url": "https://example.com/convert"}))
        .manifest()
        .expect("they agree");
    assert_eq!(manifest["spec"]["conversion"]["strategy"], "Webhook");
    let versions = manifest["spec"]["versions"].as_array().expect("a list");
    let stored: Vec<_> = versions.iter().filter(|v| v["storage"] == true).collect();
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0]["name"], "v1beta1");
    let names: Vec<_> = versions.iter().map(|v| v["name"].as_str()).collect();
    assert_eq!(names, [Some("v1"), Some("v1alpha1"), Some("v1beta1")]);
    assert_eq!(versions[1]["deprecationWarning"], "too old");
    let hub = v1::Sailor::manifest().unwrap();
    assert_eq!(versions[1]["schema"], hub["spec"]["versions"][0]["schema"]);
}
