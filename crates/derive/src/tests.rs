//! Misuse does not compile, and the error says what to write.

use syn::DeriveInput;

/// Returns all errors for a type.
fn complaints(source: &str) -> Vec<String> {
    let input: DeriveInput = syn::parse_str(source).expect("Rust");
    match crate::expand(&input) {
        Ok(_) => Vec::new(),
        Err(error) => error.into_iter().map(|e| e.to_string()).collect(),
    }
}

/// Asserts the error for a struct with one field.
#[track_caller]
fn field(mark: &str, ty: &str, expected: &str) {
    let source = format!("struct Spec {{ #[schema({mark})] field: {ty} }}");
    assert_eq!(complaints(&source), [expected], "{source}");
}

#[track_caller]
fn whole(source: &str, expected: &str) {
    assert_eq!(complaints(source), [expected], "{source}");
}

#[test]
fn marks_that_do_not_fit_their_type_are_refused() {
    field(
        "minimum = 1",
        "String",
        "`minimum` is for numbers, and this is `String`: write `min_length` for its length",
    );
    field(
        "max_length = 3",
        "Vec<String>",
        "`max_length` is for texts, and this is `Vec<String>`: write `max_items` for its length, or `items(...)` for what is in it",
    );
    field(
        "list_map_keys(\"name\")",
        "Vec<String>",
        "`list_map_keys` tells objects apart by their fields, and `Vec<String>` has none: write `list_type = \"set\"`",
    );
    field(
        "items(pattern = \"^a\")",
        "Vec<i32>",
        "`pattern` is for texts, and this is `i32`",
    );
    field(
        "min_items = 1",
        "BTreeMap<String, String>",
        "`min_items` is for lists, and this is `BTreeMap<String,String>`: write `min_properties`",
    );
    field(
        "list_type = \"set\"",
        "u32",
        "`list_type` is for lists, and this is `u32`",
    );
    field(
        "values(minimum = 1)",
        "Vec<i32>",
        "`values` is for maps, and this is `Vec<i32>`",
    );
}

#[test]
fn words_that_are_not_known_or_not_right_are_refused() {
    field("min = 1", "i32", "`min` is called `minimum` here");
    field(
        "validation = \"self > 1\"",
        "i32",
        "`validation` is called `rule` here",
    );
    field(
        "exclusive_minimum",
        "i32",
        "`exclusive_minimum` says that `minimum` itself is not allowed: write `minimum = ..., exclusive_minimum`",
    );
    field(
        "unique_items",
        "Vec<String>",
        "Kubernetes rejects `uniqueItems`: write `list_type = \"set\"`, or make it a `BTreeSet`",
    );
    field(
        "list_type = \"map\"",
        "Vec<Port>",
        "a list of type \"map\" needs the fields that tell its items apart: write `list_map_keys(\"name\")`",
    );
    field(
        "list_type = \"bag\"",
        "Vec<Port>",
        "`list_type` is one of \"atomic\", \"set\", \"map\"",
    );
    field(
        "maximum = \"3\"",
        "i32",
        "`maximum` is a number: write `maximum = 3`, without quotes",
    );
    field(
        "minimum = 1, minimum = 2",
        "i32",
        "`minimum` is given twice: once is enough",
    );
    let unknown = complaints("struct Spec { #[schema(minumum = 1)] field: i32 }");
    assert!(
        unknown[0]
            .starts_with("`minumum` is not known; known are all_of, any_of, as, at_least_one_of,")
    );
}

#[test]
fn defaults_and_presence_that_the_type_does_not_allow_are_refused() {
    field(
        "default = \"3\"",
        "i32",
        "this default is not a `i32`: write a whole number such as `default = 3`",
    );
    field(
        "default = 3",
        "Vec<String>",
        "this default is not a `Vec<String>`: write a list such as `default = [1, 2]`",
    );
    field(
        "default",
        "String",
        "there is no default to take: write `default = ...`, or add `#[serde(default = \"function\")]`",
    );
    field(
        "nullable",
        "String",
        "`String` cannot hold null: make it `Option<String>`",
    );
    field(
        "optional",
        "String",
        "an object without this field could not be read: make it `Option<String>`, or add `#[serde(default)]`",
    );
    whole(
        "#[schema(default = 1)] struct Spec { a: i32 }",
        "`default` is said of a field: put it on the field that has this type",
    );
    field(
        "default = 3",
        "i32",
        "Rust does not know this default, and cannot read an object without the field: put `#[kubewright::defaults]` above \
         `#[derive(...)]`",
    );
    whole(
        "#[kubewright::defaults] struct Spec { a: i32 }",
        "the derives do not see what `defaults` does: put it above `#[derive(...)]`",
    );
}

#[test]
fn a_type_with_a_mistake_has_the_traits_so_that_the_mistake_is_the_only_error() {
    let source =
        "#[kube(kind = \"Captain\")] struct Spec<T> { #[schema(minimum = 1)] name: String }";
    let input: DeriveInput = syn::parse_str(source).expect("Rust");
    assert!(crate::expand(&input).is_err());
    let code = crate::without_schema(&input).to_string();
    assert!(code.contains("JsonSchema for Spec < T >"), "{code}");
    assert!(code.contains("CustomKind for Captain"), "{code}");
}

#[test]
fn rules_that_the_server_would_refuse_are_refused() {
    field(
        "rule(\"self > 1\", reason = \"Invalid\")",
        "i32",
        "a reason is one of \"FieldValueInvalid\", \"FieldValueForbidden\", \"FieldValueRequired\", \"FieldValueDuplicate\"",
    );
    field(
        "rule(\"self > 1\", field_path = \"a\")",
        "i32",
        "a field path begins with a dot: write \".a\"",
    );
    field(
        "rule = \"self > 1 &&\\nself < 3\"",
        "i32",
        "a rule of several lines needs a message: write `rule(\"...\", message = \"...\")`",
    );
    field("rule = \" \"", "i32", "the rule is empty");
    field(
        "rule(\"self > 1\", message = \"a\\nb\")",
        "i32",
        "a message is one line: Kubernetes rejects line breaks in it",
    );
}

#[test]
fn numbers_of_protobuf_belong_to_fields() {
    for number in ["0", "2048", "-1", "\"3\""] {
        field(
            &format!("protobuf = {number}"),
            "i32",
            "`protobuf` is the number of the field in protobuf: write one from 1 to 2047, such as `protobuf = 3`",
        );
    }
    field(
        "items(protobuf = 3)",
        "Vec<i32>",
        "this is said of the field itself, not of what is in it: write it outside the parentheses",
    );
    for ty in ["struct Spec { a: i32 }", "enum Spec { A, B }"] {
        whole(
            &format!("#[schema(protobuf = 3)] {ty}"),
            "`protobuf` is said of a field: put it on the fields of this type",
        );
    }
}

#[test]
fn enums_without_a_structural_schema_are_refused() {
    whole(
        "enum Mixed { Nothing, Some { a: String } }",
        "`Nothing` is written as a text and the others as objects, which has no structural schema: write `Nothing {}`",
    );
    let untagged = complaints("#[serde(untagged)] enum Either { A(i32), B(String) }");
    assert!(untagged[0].contains("write `#[schema(int_or_string)]` for a number or a text"));
    let adjacent = complaints("#[serde(tag = \"t\", content = \"c\")] enum Adjacent { A(i32) }");
    assert!(adjacent[0].contains("leave `content` out"));
    whole(
        "struct Pair(i32, String);",
        "a list of values of different types has no structural schema: give the fields names",
    );
}

#[test]
fn groups_name_fields_that_may_be_absent() {
    whole(
        "#[schema(exactly_one_of(\"a\", \"b\"))] struct Spec { a: Option<String>, b: String }",
        "`b` is always there: make it an `Option` that is skipped when it is `None`",
    );
    whole(
        "#[schema(at_most_one_of(\"a\", \"c\"))] struct Spec { a: Option<String>, b: Option<String> }",
        "there is no field `c` in the JSON of this type; there are a, b",
    );
    whole(
        "#[schema(at_least_one_of(\"a\"))] struct Spec { a: Option<String> }",
        "write at least two fields: `at_least_one_of(\"a\", \"b\")`",
    );
}

#[test]
fn attributes_without_effect_are_refused() {
    let foreign = [
        ("#[schemars(length(min = 1))]", "write `#[schema(...)]`"),
        ("#[validate(length(min = 1))]", "write `#[schema(...)]`"),
        (
            "#[x_kube(validation = \"self != ''\")]",
            "write `#[schema(rule(",
        ),
        (
            "#[serde(with = \"seconds\")]",
            "write `#[schema(as = \"Type\")]`",
        ),
    ];
    for (attribute, advice) in foreign {
        let found = complaints(&format!("struct Spec {{ {attribute} field: Thing }}"));
        assert!(found[0].contains(advice), "{found:?}");
    }
    whole(
        "#[crd(label(\"a\", \"b\"))] struct Spec { a: i32 }",
        "`#[crd(...)]` is about a whole kind: put it beside `#[kube(...)]`",
    );
    whole(
        "#[kube(kind = \"A\")] #[crd(printcolumn(name = \"a\"))] struct Spec { a: i32 }",
        "`printcolumn` is kube's: write it in `#[kube(...)]`",
    );
    whole(
        "#[kube(kind = \"A\", scale(spec_replicas_path = \".a\"))] struct Spec { a: i32 }",
        "without a status there is no `scale`: add `status = \"...\"`, the type of the status",
    );
}

#[test]
fn bounds_that_nothing_is_within_are_refused() {
    field(
        "minimum = 9, maximum = 1",
        "i32",
        "nothing is at least 9 and at most 1: write `minimum = 1, maximum = 9`",
    );
    field(
        "min_length = 3, max_length = 2",
        "String",
        "nothing is at least 3 and at most 2: write `min_length = 2, max_length = 3`",
    );
    field(
        "min_length = -1",
        "String",
        "`min_length` counts: write a number such as `min_length = 3`",
    );
    field(
        "multiple_of = 2",
        "Vec<i32>",
        "`multiple_of` is for numbers, and this is `Vec<i32>`: write `items(multiple_of = ...)`",
    );
    field(
        "max_properties = 2",
        "Vec<i32>",
        "`max_properties` is for objects, and this is `Vec<i32>`: write `max_items`",
    );
}

#[test]
fn values_of_another_form_are_refused() {
    field(
        "enum = \"a\"",
        "String",
        "`enum` is a list of values: write `enum = [\"a\", \"b\"]`",
    );
    field(
        "type = \"int\"",
        "i32",
        "`type` is one of \"object\", \"array\", \"string\", \"integer\", \"number\", \"boolean\"",
    );
    field(
        "pattern = 3",
        "String",
        "`pattern` is a text: write `pattern = \"...\"`",
    );
    field(
        "title = 3",
        "String",
        "`title` is a text: write `title = \"...\"`",
    );
    field("example =", "String", "a value is missing after `=`");
    field(
        "external_docs(description = \"a\")",
        "String",
        "write the address: `external_docs(url = \"https://...\")`",
    );
    field(
        "external_docs(link = \"a\")",
        "String",
        "write `external_docs(url = \"...\", description = \"...\")`",
    );
    field(
        "any_of = [1, 2]",
        "String",
        "`any_of` is a list of schemas: write `any_of = [{\"required\": [\"a\"]}, {\"required\": [\"b\"]}]`",
    );
    field(
        "not = [1]",
        "String",
        "`not` is a schema: write `not = {\"required\": [\"a\"]}`",
    );
    let one_of = complaints("struct Spec { #[schema(one_of = [\"a\", \"b\"])] a: String }");
    assert!(one_of[0].starts_with("write `enum = [...]` for a value out of a list"));
    field(
        "extend(a = 1)",
        "String",
        "write keywords as the schema has them: `extend(\"x-example\" = true)`; `null` takes one away",
    );
}

#[test]
fn objects_where_there_is_none_are_refused() {
    field(
        "preserve_unknown_fields",
        "Vec<Value>",
        "`preserve_unknown_fields` is for objects, and this is `Vec<Value>`: write `items(preserve_unknown_fields)`",
    );
    field(
        "embedded_resource",
        "String",
        "`embedded_resource` is for objects, and this is `String`: make it a struct, or a `serde_json::Value`",
    );
    field(
        "int_or_string",
        "Option<i32>",
        "`Option<i32>` cannot hold both a number and a text: make it an `IntOrString` of k8s-openapi",
    );
    field(
        "map_type = \"atomic\"",
        "Vec<Port>",
        "`map_type` is for objects, and this is `Vec<Port>`: write `list_type`",
    );
    field(
        "struct_type = \"whole\"",
        "Port",
        "`struct_type` is one of \"granular\", \"atomic\"",
    );
    field(
        "list_map_keys()",
        "Vec<Port>",
        "write the keys: `list_map_keys(\"name\")`",
    );
    field(
        "list_type = \"set\", list_map_keys(\"name\")",
        "Vec<Port>",
        "`list_map_keys` is for lists of type \"map\": leave `list_type` out",
    );
}

#[test]
fn attributes_of_a_field_do_not_apply_to_its_items_or_its_type() {
    let outside =
        "this is said of the field itself, not of what is in it: write it outside the parentheses";
    field("items(immutable)", "Vec<String>", outside);
    field("items(default = 1)", "Vec<i32>", outside);
    field("values(required)", "BTreeMap<String, String>", outside);
    for mark in ["immutable", "required", "default = 1"] {
        let name = mark.split(' ').next().unwrap_or(mark);
        whole(
            &format!("#[schema({mark})] struct Spec {{ a: i32 }}"),
            &format!("`{name}` is said of a field: put it on the field that has this type"),
        );
    }
}

#[test]
fn rules_that_say_nothing_are_refused() {
    field(
        "rule(\"self > 1\", message = \" \")",
        "i32",
        "the message is empty: say what to write, or leave `message` out",
    );
    field(
        "rule(\"self > 1\", optional_old_self)",
        "i32",
        "`optional_old_self` is for rules that use `oldSelf`, and this one does not: leave it out",
    );
    let unknown =
        complaints("struct Spec { #[schema(rule(\"self > 1\", because = \"a\"))] a: i32 }");
    assert!(
        unknown[0].starts_with("a rule has no `because`: write `rule("),
        "{unknown:?}"
    );
    let bare = complaints("struct Spec { #[schema(rule)] a: i32 }");
    assert!(
        bare[0].starts_with("write `rule(\"self.x < 3\", message"),
        "{bare:?}"
    );
}

#[test]
fn attributes_of_a_kind_have_their_form() {
    let kind = |attribute: &str, expected: &str| {
        whole(
            &format!("#[kube(kind = \"A\")] #[crd({attribute})] struct Spec {{ a: i32 }}"),
            expected,
        );
    };
    kind(
        "annotation = \"a\"",
        "write `annotation(\"key\", \"value\")`",
    );
    kind("label(\"a\")", "write `label(\"key\", \"value\")`");
    kind(
        "short_name = \"a\"",
        "`short_name` is not known; known are annotation, extend, external_docs, label, list_kind, metadata, \
         preserve_unknown_fields, rule, status_subresource, title",
    );
    kind(
        "deprecated",
        "`deprecated` is kube's: write it in `#[kube(...)]`",
    );
    kind("rule = \"\"", "the rule is empty");
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let source = "struct Spec { #[schema(minimum = 1)] a: String, #[schema(min = 1)] b: i32 }";
    assert_eq!(complaints(source).len(), 2);
}

#[test]
fn valid_input_generates_code() {
    let source = "#[kube(kind = \"Captain\")] struct Spec { #[schema(default = 3, minimum = 1)] mates: Option<i32> }";
    let input: DeriveInput = syn::parse_str(source).expect("Rust");
    let code = crate::expand(&input).expect("right").to_string();
    assert!(code.contains("CustomKind for Captain"), "{code}");
    assert!(code.contains("\"minimum\" , json ! (1)"), "{code}");
}
