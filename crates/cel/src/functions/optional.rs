//! Optionals.

use crate::ast::operators as op;
use crate::value::{EvalError, EvalResult, List, Value};

use super::{Implementation, Registry, no_such_overload};

pub(super) fn declare(r: &mut Registry) {
    r.global(
        "optional.of",
        "optional_of",
        "V",
        "opt(V)",
        of as Implementation,
    );
    r.global(
        "optional.ofNonZeroValue",
        "optional_ofNonZeroValue",
        "V",
        "opt(V)",
        of_non_zero as Implementation,
    );
    r.global(
        "optional.none",
        "optional_none",
        "",
        "opt(V)",
        none as Implementation,
    );
    r.member(
        "value",
        "optional_value",
        "opt(V)",
        "V",
        value as Implementation,
    );
    r.member(
        "hasValue",
        "optional_hasValue",
        "opt(V)",
        "bool",
        has_value as Implementation,
    );
    r.member(
        "or",
        "optional_or_optional",
        "opt(V) opt(V)",
        "opt(V)",
        None,
    );
    r.member("orValue", "optional_orValue_value", "opt(V) V", "V", None);
    r.global(
        op::OPT_SELECT,
        "select_optional_field",
        "dyn string",
        "opt(V)",
        None,
    );
    for (id, of, key) in [
        ("list_optindex_optional_int", "list(V)", "int"),
        ("optional_list_optindex_optional_int", "opt(list(V))", "int"),
        ("map_optindex_optional_value", "map(K V)", "K"),
        ("optional_map_optindex_optional_value", "opt(map(K V))", "K"),
    ] {
        r.global(op::OPT_INDEX, id, &format!("{of} {key}"), "opt(V)", None);
    }
    r.global(
        op::INDEX,
        "optional_list_index_int",
        "opt(list(V)) int",
        "opt(V)",
        None,
    );
    r.global(
        op::INDEX,
        "optional_map_index_value",
        "opt(map(K V)) K",
        "opt(V)",
        None,
    );
    r.global(
        "optional.unwrap",
        "optional_unwrap",
        "list(opt(V))",
        "list(V)",
        unwrap as Implementation,
    );
    r.member(
        "unwrapOpt",
        "optional_unwrapOpt",
        "list(opt(V))",
        "list(V)",
        unwrap as Implementation,
    );
}

fn of<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [value] => Ok(Value::some(value.clone())),
        _ => no_such_overload(),
    }
}

fn of_non_zero<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [value] if is_zero(value) => Ok(Value::none()),
        _ => of(args),
    }
}

fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Int(i) => *i == 0,
        Value::Uint(u) => *u == 0,
        Value::Double(d) => *d == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::Duration(nanos) => *nanos == 0,
        Value::Timestamp(at) => at.is_zero(),
        Value::List(list) => list.is_empty() && !matches!(list, List::Json(_, Some(_))),
        Value::Map(map) => map.is_empty() && !matches!(map, crate::value::Map::Json(_, Some(_))),
        _ => false,
    }
}

fn none<'a>(_: &[Value<'a>]) -> EvalResult<'a> {
    Ok(Value::none())
}

fn value<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::Optional(Some(value))] => Ok((**value).clone()),
        [Value::Optional(None)] => Err(EvalError::new("optional.none() dereference")),
        _ => no_such_overload(),
    }
}

fn has_value<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::Optional(value)] => Ok(Value::Bool(value.is_some())),
        _ => no_such_overload(),
    }
}

fn unwrap<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::List(list)] = args else {
        return no_such_overload();
    };
    let mut out = Vec::new();
    for item in list.iter() {
        match item? {
            Value::Optional(Some(value)) => out.push((*value).clone()),
            Value::Optional(None) => {}
            other => return Err(EvalError::new(format!("value {other} is not optional"))),
        }
    }
    Ok(Value::List(List::new(out)))
}
