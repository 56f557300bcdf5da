//! Values of any type of the catalog, drawn from a number.

use kubewright_catalog::types::{Field, StructType, Type};
use serde_json::{Map, Value, json};

/// A stream of numbers that is the same for the same seed.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Draw(seed | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() >> 16) as usize % end.max(1)
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// A value of a struct, with some of its fields.
pub(crate) fn structure(draw: &mut Draw, ty: &'static StructType, depth: usize) -> Value {
    let fields = ty.fields.iter().filter(|field| field.proto != 0);
    let mut object = Map::new();
    for field in fields {
        if draw.below(3) > 0 && (depth < 7 || simple(field)) {
            object.insert(field.json.to_owned(), value(draw, &field.ty, depth + 1));
        }
    }
    Value::Object(object)
}

fn simple(field: &Field) -> bool {
    !matches!(
        field.ty,
        Type::Struct(_) | Type::Optional(_) | Type::List(_) | Type::Map(_)
    )
}

fn value(draw: &mut Draw, ty: &'static Type, depth: usize) -> Value {
    match ty {
        Type::Bool => (draw.below(2) == 0).into(),
        Type::Int32 => draw
            .one_of(&[0, 1, -1, 127, 128, i32::MAX, i32::MIN])
            .into(),
        Type::Int64 => draw.one_of(&[0, 1, -1, 1 << 40, i64::MAX, i64::MIN]).into(),
        Type::Uint32 => draw.one_of(&[0, 1, u32::MAX]).into(),
        Type::Float64 => draw.one_of(&[0.5, -1.25, 1e300, 5e-324]).into(),
        Type::String(_) => text(draw).into(),
        Type::Bytes => draw.one_of(&["", "AA==", "AAEC/w==", "//8="]).into(),
        Type::Struct(ty) => structure(draw, ty, depth),
        Type::Optional(ty) => value(draw, ty, depth),
        Type::List(ty) => (0..draw.below(4)).map(|_| value(draw, ty, depth)).collect(),
        Type::Map(ty) => (0..draw.below(4))
            .map(|_| (text(draw), value(draw, ty, depth)))
            .collect(),
        Type::StringsMessage(_) => (0..draw.below(4)).map(|_| text(draw)).collect(),
        Type::Quantity => draw
            .one_of(&["0", "1", "500m", "-3", "1Gi", "128974848", "12e6", "10n"])
            .into(),
        Type::IntOrString => draw
            .one_of(&[json!(0), json!(-7), json!(8080)].each_ref())
            .clone(),
        Type::Time => draw
            .one_of(&[
                "1970-01-01T00:00:00Z",
                "2026-01-02T03:04:05Z",
                "1901-12-13T20:45:52Z",
                "9999-12-31T23:59:59Z",
            ])
            .into(),
        Type::MicroTime => draw
            .one_of(&[
                "2026-01-02T03:04:05.000000Z",
                "1969-12-31T23:59:59.999999Z",
                "2026-01-02T03:04:05.000001Z",
            ])
            .into(),
        Type::Duration => draw.one_of(&["0s", "1h0m0s", "-1.5s", "1ns"]).into(),
        Type::RawExtension | Type::FieldsV1 => {
            json!({text(draw): [1, -2.5, null, "<a>", {"b": true}]})
        }
        Type::Json => draw
            .one_of(&[json!(1), json!("x"), json!({"a": []}), json!([false])].each_ref())
            .clone(),
        Type::SchemaOrBool(schema) => match draw.below(2) {
            0 => (draw.below(2) == 0).into(),
            _ => structure(draw, schema, depth + 3),
        },
        Type::SchemaOrArray(schema) => match draw.below(2) {
            0 => json!([structure(draw, schema, depth + 3), {}]),
            _ => structure(draw, schema, depth + 3),
        },
        Type::SchemaOrStrings(schema) => match draw.below(2) {
            0 => json!([text(draw), ""]),
            _ => structure(draw, schema, depth + 3),
        },
    }
}

fn text(draw: &mut Draw) -> String {
    draw.one_of(&[
        "",
        "a",
        "B",
        "example.com/x",
        "é漢😀",
        "\0\n\"\\",
        "<&>",
        "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
    ])
    .repeat(draw.one_of(&[1, 1, 1, 40]))
}
