//! The options of a connect as an object, such as `PodExecOptions`.

use kubewright_apiserver::{registry::Shape, request::RequestContext};
use kubewright_catalog::types::Type;
use kubewright_schema::normalize_typed;
use serde_json::{Map, Value};

/// Returns the options, from the query and the path below `proxy`.
pub(super) fn of(cx: &RequestContext) -> Value {
    let (kind, shape) = cx.resource.kind_of(&cx.info.subresource);
    let Shape::Typed(ty) = shape else {
        return Value::Null;
    };
    let mut fields = Map::new();
    fields.insert("kind".into(), kind.kind.as_str().into());
    fields.insert("apiVersion".into(), kind.api_version().into());
    for field in ty.fields {
        let values: Vec<&str> = cx.query.all(field.json).collect();
        let value = match (field.json, field.ty, values.as_slice()) {
            ("kind" | "apiVersion", ..) => continue,
            ("path", ..) if cx.info.rest.is_empty() => continue,
            ("path", ..) => format!("/{}", cx.info.rest.join("/")).into(),
            (_, _, []) => continue,
            (_, Type::Bool, [first, ..]) => {
                let off = first.eq_ignore_ascii_case("false") || *first == "0";
                (!off).into()
            }
            (_, Type::List(Type::Int32), list) => list
                .iter()
                .filter_map(|text| text.parse::<i32>().ok())
                .collect(),
            (_, Type::List(_), list) => list.iter().copied().collect(),
            (_, _, [first, ..]) => Value::from(*first),
        };
        fields.insert(field.json.into(), value);
    }
    let options = Value::Object(fields);
    normalize_typed(options.clone(), ty).unwrap_or(options)
}
