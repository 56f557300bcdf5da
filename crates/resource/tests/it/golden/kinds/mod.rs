//! The Rust forms of the Go types in `tests/golden/go`.

pub(crate) mod merges;
pub(crate) mod places;

pub(crate) mod numbers {
    use kube::CustomResource;
    use kubewright::Schema;
    use serde::{Deserialize, Serialize};

    /// Bounds of numbers.
    #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
    #[kube(
        group = "golden.example.com",
        version = "v1",
        kind = "Numbers",
        plural = "numbers",
        namespaced
    )]
    pub(crate) struct NumbersSpec {
        #[schema(minimum = 1, maximum = 9)]
        within: i32,
        #[schema(minimum = 0, exclusive_minimum, maximum = 100, exclusive_maximum)]
        between: i64,
        #[schema(multiple_of = 5)]
        stepped: Option<i32>,
        #[schema(minimum = -1.5)]
        ratio: Option<f64>,
        #[serde(default)]
        #[schema(items(minimum = 1, maximum = 65535))]
        ports: Vec<i32>,
        #[schema(enum = [1, 2, 4])]
        width: Option<i32>,
        percent: Option<Percent>,
    }

    /// A part of a hundred.
    #[derive(Schema, Clone, Copy, Debug, Serialize, Deserialize)]
    #[schema(minimum = 0, maximum = 100)]
    pub(crate) struct Percent(pub(crate) i32);
}

pub(crate) mod texts {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use kube::CustomResource;
    use kubewright::Schema;
    use serde::{Deserialize, Serialize};

    /// Texts and what they may be.
    #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
    #[kube(
        group = "golden.example.com",
        version = "v1",
        kind = "Texts",
        plural = "texts",
        namespaced
    )]
    pub(crate) struct TextsSpec {
        /// How it is called.
        #[schema(
            min_length = 1,
            max_length = 63,
            pattern = r"^[a-z][-a-z0-9]*$",
            title = "Name"
        )]
        name: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        #[schema(format = "email", example = "a@example.com")]
        mail: String,
        #[schema(external_docs(
            url = "https://example.com/colour",
            description = "All about colours"
        ))]
        colour: Option<Colour>,
        #[schema(enum = ["small", "large"])]
        size: Option<String>,
        when: Option<Time>,
        #[serde(default)]
        #[schema(items(pattern = "^[a-z]+$", min_length = 2, max_length = 9))]
        words: Vec<String>,
        #[schema(type = "string", format = "duration")]
        wait: Option<i64>,
        host: Option<Host>,
    }

    /// A colour.
    #[derive(Schema, Clone, Debug, Serialize, Deserialize)]
    pub(crate) enum Colour {
        Red,
        DarkGreen,
    }

    /// The name of a machine.
    #[derive(Schema, Clone, Debug, Serialize, Deserialize)]
    #[serde(transparent)]
    #[schema(format = "hostname", max_length = 253)]
    pub(crate) struct Host(String);
}

pub(crate) mod lists {
    use std::collections::{BTreeMap, BTreeSet};

    use kube::CustomResource;
    use kubewright::Schema;
    use serde::{Deserialize, Serialize};

    use super::numbers::Percent;

    /// Lists and maps, and how they merge.
    #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
    #[kube(
        group = "golden.example.com",
        version = "v1",
        kind = "Lists",
        plural = "lists",
        namespaced
    )]
    pub(crate) struct ListsSpec {
        #[schema(list_map_keys("name", "protocol"), min_items = 1, max_items = 8)]
        ports: Vec<Port>,
        #[serde(default)]
        #[schema(list_type = "set")]
        tags: Vec<String>,
        #[serde(default)]
        zones: BTreeSet<String>,
        #[serde(default)]
        #[schema(list_type = "atomic")]
        args: Vec<String>,
        #[serde(default)]
        #[schema(map_type = "atomic", min_properties = 1, max_properties = 4)]
        selector: Option<BTreeMap<String, String>>,
        #[serde(default)]
        #[schema(map_type = "granular")]
        limits: BTreeMap<String, Percent>,
        #[schema(struct_type = "atomic")]
        r#ref: Option<Ref>,
        whole: Option<Whole>,
    }

    #[derive(Schema, Clone, Debug, Serialize, Deserialize)]
    pub(crate) struct Port {
        name: String,
        protocol: String,
        number: Option<i32>,
    }

    #[derive(Schema, Clone, Debug, Serialize, Deserialize)]
    pub(crate) struct Ref {
        name: String,
    }

    /// Set as a whole.
    #[derive(Schema, Clone, Debug, Serialize, Deserialize)]
    #[schema(struct_type = "atomic")]
    pub(crate) struct Whole {
        a: Option<String>,
    }
}

pub(crate) mod defaults {
    use kube::CustomResource;
    use kubewright::Schema;
    use serde::{Deserialize, Serialize};

    /// Defaults and presence.
    #[kubewright::defaults]
    #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
    #[kube(
        group = "golden.example.com",
        version = "v1",
        kind = "Defaults",
        plural = "defaults",
        namespaced
    )]
    pub(crate) struct DefaultsSpec {
        #[schema(default = 3)]
        replicas: i32,
        #[serde(default = "blue")]
        #[schema(default)]
        colour: String,
        #[serde(default)]
        #[schema(default)]
        paused: bool,
        #[serde(default)]
        #[schema(default = ["a", "b"])]
        names: Vec<String>,
        #[schema(default = {"name": "x", "count": 2})]
        nested: Option<Nested>,
        #[schema(default = 5 + 2)]
        seven: i64,
        #[schema(nullable)]
        maybe: Option<String>,
        #[schema(required)]
        must: Option<String>,
        #[serde(default)]
        #[schema(optional)]
        may: String,
    }

    #[kubewright::defaults]
    #[derive(Schema, Clone, Debug, Serialize, Deserialize)]
    pub(crate) struct Nested {
        name: String,
        #[schema(default = 1)]
        count: i32,
    }

    fn blue() -> String {
        "blue".to_owned()
    }
}

pub(crate) mod rules {
    use kube::CustomResource;
    use kubewright::Schema;
    use serde::{Deserialize, Serialize};

    /// Rules in CEL.
    #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
    #[kube(
        group = "golden.example.com",
        version = "v1",
        kind = "Rules",
        plural = "rules",
        namespaced
    )]
    #[crd(rule("self.metadata.name.size() < 20", message = "names are short"))]
    #[schema(
        rule(
            "self.min <= self.max",
            message = "min is at most max",
            reason = "FieldValueForbidden",
            field_path = ".min"
        ),
        rule(
            "self.max >= oldSelf.max",
            message_expression = "oldSelf.max > 100 ? 'max was large' : 'max may only grow'"
        )
    )]
    pub(crate) struct RulesSpec {
        min: i64,
        max: i64,
        #[schema(max_length = 40, rule = "self != 'root'")]
        user: Option<String>,
        #[schema(
            max_length = 40,
            rule(
                "!oldSelf.hasValue() || self == oldSelf.value()",
                message = "stays",
                optional_old_self
            )
        )]
        once: Option<String>,
        #[serde(default)]
        #[schema(
            max_items = 5,
            items(
                max_length = 10,
                rule("self.startsWith('a')", message = "begins with a")
            )
        )]
        words: Vec<String>,
        #[schema(immutable, max_length = 40)]
        class: String,
        #[schema(immutable, max_length = 40)]
        zone: Option<String>,
    }
}

pub(crate) mod choices {
    use kube::CustomResource;
    use kubewright::Schema;
    use serde::{Deserialize, Serialize};

    /// One of several.
    #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
    #[kube(
        group = "golden.example.com",
        version = "v1",
        kind = "Choices",
        plural = "choices",
        namespaced
    )]
    #[schema(
        at_most_one_of("alpha", "beta"),
        at_least_one_of("gamma", "delta"),
        exactly_one_of("eta", "theta")
    )]
    pub(crate) struct ChoicesSpec {
        source: Source,
        alpha: Option<String>,
        beta: Option<String>,
        gamma: Option<String>,
        delta: Option<String>,
        eta: Option<String>,
        theta: Option<String>,
        level: Option<Level>,
    }

    /// Where it comes from.
    #[derive(Schema, Clone, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(crate) enum Source {
        /// A repository.
        Git {
            repository: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            branch: Option<String>,
        },
        /// A file.
        Http(Http),
        /// As it stands.
        #[schema(max_length = 100)]
        Inline(String),
    }

    #[derive(Schema, Clone, Debug, Serialize, Deserialize)]
    pub(crate) struct Http {
        #[schema(format = "uri")]
        url: String,
    }

    /// How loud.
    #[derive(Schema, Clone, Copy, Debug, Serialize, Deserialize)]
    pub(crate) enum Level {
        Loud,
        Quiet,
    }
}

pub(crate) mod objects {
    use k8s_openapi::apimachinery::pkg::{api::resource::Quantity, util::intstr::IntOrString};
    use kube::CustomResource;
    use kubewright::Schema;
    use serde::{Deserialize, Serialize};
    use serde_json::Value;

    /// Objects within objects.
    #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
    #[kube(
        group = "golden.example.com",
        version = "v1",
        kind = "Objects",
        plural = "objects",
        namespaced
    )]
    pub(crate) struct ObjectsSpec {
        #[schema(embedded_resource, preserve_unknown_fields)]
        template: Option<Value>,
        #[schema(embedded_resource, preserve_unknown_fields)]
        other: Option<Value>,
        #[schema(type = "object", preserve_unknown_fields)]
        settings: Option<Value>,
        #[schema(schemaless, preserve_unknown_fields)]
        anything: Option<Value>,
        #[schema(pattern = r"^\d+%?$")]
        share: Option<IntOrString>,
        memory: Option<Quantity>,
        inner: Option<Inner>,
        #[serde(flatten)]
        shared: Shared,
    }

    /// Open to the future.
    #[derive(Schema, Clone, Debug, Serialize, Deserialize)]
    #[schema(
        preserve_unknown_fields,
        title = "Inner",
        external_docs(url = "https://example.com/inner")
    )]
    pub(crate) struct Inner {
        a: Option<String>,
    }

    #[derive(Schema, Clone, Debug, Serialize, Deserialize)]
    pub(crate) struct Shared {
        owner: String,
        notes: Option<String>,
    }
}

pub(crate) mod names {
    use kube::CustomResource;
    use kubewright::Schema;
    use serde::{Deserialize, Serialize};

    /// What is said of a whole kind.
    #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
    #[kube(
        group = "golden.example.com",
        version = "v1",
        kind = "Names",
        plural = "caps",
        singular = "cap",
        shortname = "cp",
        shortname = "cn",
        category = "all",
        category = "crew",
        status = "NamesStatus",
        scale(
            spec_replicas_path = ".spec.replicas",
            status_replicas_path = ".status.replicas",
            label_selector_path = ".status.selector"
        ),
        printcolumn(name = "Colour", type_ = "string", json_path = ".spec.colour"),
        printcolumn(
            name = "Replicas",
            type_ = "integer",
            json_path = ".spec.replicas",
            description = "How many",
            format = "int32",
            priority = 1
        ),
        printcolumn(
            name = "Age",
            type_ = "date",
            json_path = ".metadata.creationTimestamp"
        ),
        selectable = ".spec.colour",
        deprecated = "golden.example.com/v1 Names is old"
    )]
    #[crd(
        annotation("example.com/note", "kept"),
        label("example.com/part", "golden")
    )]
    pub(crate) struct NamesSpec {
        replicas: i32,
        colour: String,
    }

    /// What is there.
    #[derive(Schema, Clone, Debug, Serialize, Deserialize)]
    pub(crate) struct NamesStatus {
        replicas: Option<i32>,
        selector: Option<String>,
    }
}

pub(crate) mod officers {
    pub(crate) mod v1 {
        use kube::CustomResource;
        use kubewright::Schema;
        use serde::{Deserialize, Serialize};

        /// Several versions.
        #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
        #[kube(
            group = "golden.example.com",
            version = "v1",
            kind = "Officer",
            namespaced
        )]
        pub(crate) struct OfficerSpec {
            pub(crate) rank: i32,
        }
    }

    pub(crate) mod v1beta1 {
        use kube::CustomResource;
        use kubewright::Schema;
        use serde::{Deserialize, Serialize};

        /// Several versions.
        #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
        #[kube(
            group = "golden.example.com",
            version = "v1beta1",
            kind = "Officer",
            namespaced
        )]
        #[kube(deprecated)]
        pub(crate) struct OfficerSpec {
            pub(crate) grade: String,
        }
    }

    impl TryFrom<v1beta1::Officer> for v1::Officer {
        type Error = std::num::ParseIntError;

        fn try_from(old: v1beta1::Officer) -> Result<Self, Self::Error> {
            let rank = old.spec.grade.parse()?;
            let mut new = v1::Officer::new("", v1::OfficerSpec { rank });
            new.metadata = old.metadata;
            Ok(new)
        }
    }

    impl From<v1::Officer> for v1beta1::Officer {
        fn from(new: v1::Officer) -> Self {
            let grade = new.spec.rank.to_string();
            let mut old = v1beta1::Officer::new("", v1beta1::OfficerSpec { grade });
            old.metadata = new.metadata;
            old
        }
    }
}
