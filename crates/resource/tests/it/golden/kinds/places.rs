//! Marks where they may stand.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use kubewright::Schema;
use serde::{Deserialize, Serialize};

/// Marks where they may stand: on types, on what is in lists, on types that are lists.
#[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "golden.example.com",
    version = "v1",
    kind = "Places",
    plural = "places",
    singular = "places",
    namespaced
)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlacesSpec {
    number: Option<Number>,
    word: Option<Word>,
    bag: Option<Bag>,
    row: Option<Row>,
    shaped: Option<Shaped>,
    open: Option<Open>,
    embedded: Option<Embedded>,
    #[schema(
        max_items = 4,
        items(
            minimum = 1,
            maximum = 9,
            exclusive_minimum,
            exclusive_maximum,
            multiple_of = 2,
            rule("self != 4", message = "not four", reason = "FieldValueForbidden")
        )
    )]
    numbers: Option<Vec<i64>>,
    #[schema(items(
        min_length = 1,
        max_length = 9,
        pattern = "^[a-z.]+$",
        format = "hostname"
    ))]
    words: Option<Vec<String>>,
    #[schema(items(enum = ["a", "b"]))]
    choices: Option<Vec<String>>,
    #[schema(items(min_properties = 1, max_properties = 2))]
    bags: Option<Vec<BTreeMap<String, String>>>,
    #[schema(items(min_items = 1, max_items = 2))]
    rows: Option<Vec<Vec<String>>>,
    #[schema(items(type = "string"))]
    shapes: Option<Vec<i64>>,
    #[schema(items(preserve_unknown_fields))]
    opens: Option<Vec<Plain>>,
    #[schema(items(embedded_resource))]
    embeds: Option<Vec<Plain>>,
    #[schema(items(int_or_string))]
    eithers: Option<Vec<IntOrString>>,
    number_list: Option<NumberList>,
    word_list: Option<WordList>,
    choice_list: Option<ChoiceList>,
    bag_list: Option<BagList>,
    row_list: Option<RowList>,
    shape_list: Option<ShapeList>,
    open_list: Option<OpenList>,
    embed_list: Option<EmbedList>,
    either_list: Option<EitherList>,
}

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
#[schema(
    minimum = 1,
    maximum = 9,
    exclusive_minimum,
    exclusive_maximum,
    multiple_of = 2,
    rule("self != 4", message = "not four", reason = "FieldValueForbidden")
)]
pub(crate) struct Number(i64);

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
#[schema(
    min_length = 1,
    max_length = 9,
    pattern = "^[a-z.]+$",
    format = "hostname"
)]
pub(crate) struct Word(String);

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
#[schema(min_properties = 1, max_properties = 2)]
pub(crate) struct Bag(BTreeMap<String, String>);

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
#[schema(min_items = 1, max_items = 2)]
pub(crate) struct Row(Vec<String>);

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
#[schema(type = "string")]
pub(crate) struct Shaped(i64);

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
#[schema(preserve_unknown_fields)]
pub(crate) struct Open {
    a: String,
}

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
#[schema(embedded_resource)]
pub(crate) struct Embedded {
    a: String,
}

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plain {
    a: String,
}

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
#[schema(
    max_items = 4,
    items(
        minimum = 1,
        maximum = 9,
        exclusive_minimum,
        exclusive_maximum,
        multiple_of = 2,
        rule("self != 4", message = "not four", reason = "FieldValueForbidden")
    )
)]
pub(crate) struct NumberList(Vec<i64>);

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
#[schema(items(
    min_length = 1,
    max_length = 9,
    pattern = "^[a-z.]+$",
    format = "hostname"
))]
pub(crate) struct WordList(Vec<String>);

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
#[schema(items(enum = ["a", "b"]))]
pub(crate) struct ChoiceList(Vec<String>);

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
#[schema(items(min_properties = 1, max_properties = 2))]
pub(crate) struct BagList(Vec<BTreeMap<String, String>>);

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
#[schema(items(min_items = 1, max_items = 2))]
pub(crate) struct RowList(Vec<Vec<String>>);

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
#[schema(items(type = "string"))]
pub(crate) struct ShapeList(Vec<i64>);

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
#[schema(items(preserve_unknown_fields))]
pub(crate) struct OpenList(Vec<Plain>);

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
#[schema(items(embedded_resource))]
pub(crate) struct EmbedList(Vec<Plain>);

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
#[schema(items(int_or_string))]
pub(crate) struct EitherList(Vec<IntOrString>);
