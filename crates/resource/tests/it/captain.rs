//! A resource as people write them, with everything that is usual.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use kubewright::{
    CustomKind, Schema,
    generate::{Generator, Rng},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The captain of a ship.
#[kubewright::defaults]
#[derive(CustomResource, Schema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Captain",
    namespaced,
    status = "CaptainStatus",
    derive = "PartialEq",
    scale(
        spec_replicas_path = ".spec.mates",
        status_replicas_path = ".status.mates"
    ),
    selectable = ".spec.colour"
)]
#[serde(rename_all = "camelCase")]
#[schema(rule(
    "!has(self.maxMates) || self.mates <= self.maxMates",
    message_expression = "self.maxMates > 100 ? 'no ship is that large' : 'the ship is too small'",
    reason = "FieldValueForbidden",
    field_path = ".mates"
))]
pub(crate) struct CaptainSpec {
    /// The name of the captain.
    #[schema(min_length = 1, max_length = 20, pattern = "^[A-Z][a-z]*$")]
    pub(crate) name: String,
    #[schema(default = 3, minimum = 0, maximum = 100)]
    pub(crate) mates: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 200)]
    pub(crate) max_mates: Option<i32>,
    #[schema(immutable, max_length = 10)]
    pub(crate) colour: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(list_map_keys("name"), max_items = 4)]
    pub(crate) ships: Vec<Ship>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) berth: Option<Berth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rank: Option<Rank>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(max_properties = 3, values(minimum = 0))]
    pub(crate) stores: BTreeMap<String, i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) share: Option<IntOrString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) vessel: Option<Vessel>,
}

#[kubewright::defaults]
#[derive(Schema, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ship {
    #[schema(max_length = 10)]
    pub(crate) name: String,
    #[schema(default = 1, minimum = 1, multiple_of = 1)]
    pub(crate) masts: u8,
}

/// The cabin of the captain.
#[derive(Schema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Berth {
    Cabin { deck: i32 },
    Inn(Inn),
}

#[derive(Schema, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Inn {
    #[schema(format = "hostname")]
    pub(crate) host: String,
}

#[derive(Schema, Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Rank {
    FirstMate,
    Captain,
}

/// Internally tagged.
#[derive(Schema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub(crate) enum Vessel {
    Sail { masts: i32 },
    Steam { power: i32, fuel: Option<String> },
}

/// The observed state of a captain.
#[derive(Schema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CaptainStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0)]
    pub(crate) mates: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(enum = ["Ashore", "Afloat"])]
    pub(crate) phase: Option<String>,
}

pub(crate) fn captain(name: &str) -> Captain {
    let spec = CaptainSpec {
        name: "Ahab".into(),
        mates: 2,
        max_mates: Some(5),
        colour: "white".into(),
        ships: vec![Ship {
            name: "Pequod".into(),
            masts: 3,
        }],
        berth: Some(Berth::Cabin { deck: 1 }),
        rank: Some(Rank::Captain),
        stores: BTreeMap::new(),
        share: None,
        vessel: Some(Vessel::Sail { masts: 3 }),
    };
    Captain::new(name, spec)
}

#[test]
fn a_good_object_is_valid() {
    captain("ahab").validate(None).expect("valid");
}

#[test]
fn a_wrong_object_is_refused_in_the_words_of_the_server() {
    let mut object = captain("ahab");
    object.spec.mates = 9;
    object.spec.name = "ahab".into();
    let refused = object.validate(None).expect_err("two things are wrong");
    assert_eq!(
        refused.message,
        "Captain.crew.example.com \"ahab\" is invalid: [spec.name: Invalid value: \"ahab\": spec.name in body should match \
         '^[A-Z][a-z]*$', spec.mates: Forbidden: the ship is too small]"
    );
}

#[test]
fn immutable_fields_are_compared_with_the_old_object() {
    let old = captain("ahab");
    let mut new = old.clone();
    new.spec.colour = "black".into();
    new.validate(None).expect("fine on its own");
    let refused = new.validate(Some(&old)).expect_err("immutable");
    assert!(
        refused.message.contains("spec.colour: Invalid value"),
        "{}",
        refused.message
    );
    assert!(
        refused.message.contains("field is immutable"),
        "{}",
        refused.message
    );
}

#[test]
fn the_status_is_validated_on_its_own() {
    let old = captain("ahab");
    let mut new = old.clone();
    new.status = Some(CaptainStatus {
        mates: Some(-1),
        phase: None,
    });
    new.validate(Some(&old))
        .expect("the status is not looked at");
    let refused = new.validate_status(&old).expect_err("less than none");
    assert!(
        refused.message.contains("status.mates"),
        "{}",
        refused.message
    );
}

#[test]
fn the_validator_applies_defaults() {
    let object = json!({
        "apiVersion": "crew.example.com/v1", "kind": "Captain", "metadata": {"name": "a"},
        "spec": {"name": "A", "colour": "red", "unknown": 1, "ships": [{"name": "x"}]},
    });
    let stored = Captain::validator().create(&object).expect("valid");
    assert_eq!(
        stored["spec"],
        json!({"name": "A", "colour": "red", "mates": 3, "ships": [{"name": "x", "masts": 1}]})
    );
}

#[test]
fn an_internally_tagged_enum_needs_the_fields_of_its_variant() {
    let object = json!({
        "apiVersion": "crew.example.com/v1", "kind": "Captain", "metadata": {"name": "a"},
        "spec": {"name": "A", "colour": "red", "vessel": {"type": "Steam", "fuel": "coal"}},
    });
    let refused = Captain::validator().create(&object).expect_err("no power");
    assert!(
        refused.message.contains("type Steam needs power"),
        "{}",
        refused.message
    );
}

#[test]
fn generated_objects_fit_the_type() {
    let generator = Generator::of::<Captain>();
    for seed in 0..200 {
        let object = generator
            .object(&mut Rng::new(seed))
            .expect("there are valid ones");
        let object = Captain::validator()
            .with_defaults(&object)
            .expect("the defaults are small");
        let typed: Captain = serde_json::from_value(object).expect("the type holds it");
        typed.validate(None).expect("valid");
    }
}

#[test]
fn the_same_seed_gives_the_same_object() {
    let generator = Generator::of::<Captain>();
    let make = |seed| generator.object(&mut Rng::new(seed)).expect("valid");
    assert_eq!(make(5), make(5));
    let distinct: std::collections::BTreeSet<String> =
        (0..20).map(|s| make(s).to_string()).collect();
    assert_eq!(distinct.len(), 20);
}

#[test]
fn the_smallest_object_has_what_it_needs() {
    let generator = Generator::of::<Captain>();
    let object: Value = generator.minimal(&mut Rng::new(1)).expect("valid");
    let fields: Vec<&String> = object["spec"]
        .as_object()
        .expect("an object")
        .keys()
        .collect();
    assert_eq!(fields, ["colour", "name"]);
}

#[test]
fn a_type_of_its_own_may_be_a_number_or_a_text() {
    #[derive(Schema, Serialize, Deserialize)]
    #[serde(untagged)]
    #[schema(int_or_string, pattern = "^[0-9]+%$")]
    enum Share {
        Whole(i64),
        Part(String),
    }
    let schema = <Share as kubewright::__derive::JsonSchema>::json_schema(&mut Default::default());
    let keywords = schema.as_object().expect("an object");
    assert_eq!(keywords["x-kubernetes-int-or-string"], true);
    assert_eq!(keywords["pattern"], "^[0-9]+%$");
    assert!(!keywords.contains_key("type"));
    assert!(serde_json::from_value::<Share>(json!(3)).is_ok());
}

#[test]
fn a_custom_type_keeps_its_description_under_any_name() {
    /// When.
    #[derive(Schema, Serialize, Deserialize)]
    struct Time {
        hour: u8,
    }
    #[derive(Schema, Serialize, Deserialize)]
    struct Log {
        times: Vec<Time>,
        now: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time,
    }
    let settings = schemars::generate::SchemaSettings::openapi3();
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    let mut generator = settings.into_generator();
    let schema = <Log as kubewright::__derive::JsonSchema>::json_schema(&mut generator);
    let fields = &schema.as_value()["properties"];
    assert_eq!(fields["times"]["items"]["description"], "When.");
    assert_eq!(
        fields["now"],
        json!({"type": "string", "format": "date-time"})
    );
}

#[test]
fn alternatives_and_other_keywords_are_part_of_the_crd() {
    mod odd {
        use kube::CustomResource;
        use kubewright::Schema;
        use serde::{Deserialize, Serialize};

        #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
        #[kube(
            group = "crew.example.com",
            version = "v1",
            kind = "Odd",
            status = "Inner"
        )]
        #[crd(
            status_subresource = false,
            preserve_unknown_fields,
            metadata = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}},
            extend("x-example" = false)
        )]
        #[schema(one_of = [{"required": ["a"]}, {"required": ["b"], "properties": {"b": {"minLength": 2}}}])]
        pub(super) struct OddSpec {
            pub(super) a: Option<Inner>,
            #[schema(not = {"pattern": "^x"}, format = null)]
            pub(super) b: Option<String>,
        }

        #[derive(Schema, Clone, Debug, Serialize, Deserialize)]
        pub(super) struct Inner {
            #[schema(format = "double", any_of = [{"minimum": 3}, {"multipleOf": 2}])]
            pub(super) ratio: f64,
        }
    }
    let manifest = odd::Odd::manifest().unwrap();
    let version = &manifest["spec"]["versions"][0];
    assert!(version.get("subresources").is_none());
    let root = &version["schema"]["openAPIV3Schema"];
    let inner = json!({
        "type": "object",
        "required": ["ratio"],
        "properties": {
            "ratio": {"type": "number", "format": "double", "anyOf": [{"minimum": 3}, {"multipleOf": 2}]}
        },
    });
    assert_eq!(
        *root,
        json!({
            "type": "object",
            "required": ["spec"],
            "x-kubernetes-preserve-unknown-fields": true,
            "x-example": false,
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}},
                "spec": {
                    "type": "object",
                    "oneOf": [{"required": ["a"]}, {"required": ["b"], "properties": {"b": {"minLength": 2}}}],
                    "properties": {
                        "a": inner,
                        "b": {"type": "string", "not": {"pattern": "^x"}},
                    },
                },
                "status": inner,
            },
        })
    );
    let object = |b: &str| {
        let spec = json!({"b": b});
        json!({"apiVersion": "crew.example.com/v1", "kind": "Odd", "metadata": {"name": "a"}, "spec": spec})
    };
    assert!(odd::Odd::validator().create(&object("bb")).is_ok());
    assert!(odd::Odd::validator().create(&object("b")).is_err());
}

#[test]
fn types_with_a_schema_of_kube_are_validated_too() {
    mod plain {
        use kube::{CustomResource, KubeSchema};
        use serde::{Deserialize, Serialize};

        #[derive(CustomResource, KubeSchema, Clone, Debug, Serialize, Deserialize)]
        #[kube(group = "crew.example.com", version = "v1", kind = "Plain", namespaced)]
        pub(super) struct PlainSpec {
            #[x_kube(validation = ("self != ''", "say something"))]
            pub(super) text: String,
        }
    }
    kubewright::custom_kind!(plain::Plain);
    let spec = plain::PlainSpec {
        text: String::new(),
    };
    let refused = plain::Plain::new("a", spec)
        .validate(None)
        .expect_err("empty");
    assert!(
        refused.message.contains("say something"),
        "{}",
        refused.message
    );
}

#[test]
fn a_keyword_of_the_wrong_type_is_an_error_that_names_the_field() {
    mod wrong {
        use kube::CustomResource;
        use kubewright::Schema;
        use serde::{Deserialize, Serialize};

        #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
        #[kube(group = "crew.example.com", version = "v1", kind = "Wrong")]
        pub(super) struct WrongSpec {
            #[schema(extend("maximum" = "many"))]
            pub(super) mates: i32,
        }

        // Alternatives are hidden from kube, whose own CRD lacks them without complaint.
        #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
        #[kube(group = "crew.example.com", version = "v1", kind = "Hidden")]
        pub(super) struct HiddenSpec {
            #[schema(any_of = [{"type": "integer", "minimum": "few"}], rule = "self < 9")]
            pub(super) mates: i32,
        }
    }
    let error = wrong::Wrong::custom_resource_definition().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the schema of Wrong is not valid: maximum of .spec.mates: invalid type: string \"many\", expected f64; \
         correct its #[schema(...)]"
    );
    let error = wrong::Hidden::custom_resource_definition().unwrap_err();
    assert!(
        error
            .to_string()
            .contains("minimum of .spec.mates: invalid type: string \"few\""),
        "{error}"
    );
    let object = wrong::Hidden::new("a", wrong::HiddenSpec { mates: 1 });
    let rejected = object.validate(None).unwrap_err();
    assert!(
        rejected.message.contains(".spec.mates"),
        "{}",
        rejected.message
    );
}
