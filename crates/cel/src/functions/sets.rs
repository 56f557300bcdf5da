//! Lists as sets.

use crate::value::{EvalError, EvalResult, List, Value};

use super::{Implementation, Registry, no_such_overload};

pub(super) fn declare(r: &mut Registry) {
    let overloads: [(&'static str, &'static str, Implementation); 3] = [
        ("sets.contains", "list_sets_contains_list", contains),
        ("sets.equivalent", "list_sets_equivalent_list", equivalent),
        ("sets.intersects", "list_sets_intersects_list", intersects),
    ];
    for (name, id, implementation) in overloads {
        r.global(name, id, "list(T) list(T)", "bool", implementation);
    }
}

fn contains<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::List(set), Value::List(subset)] => all_in(set, subset).map(Value::Bool),
        _ => no_such_overload(),
    }
}

fn equivalent<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::List(a), Value::List(b)] => Ok(Value::Bool(all_in(a, b)? && all_in(b, a)?)),
        _ => no_such_overload(),
    }
}

fn intersects<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::List(a), Value::List(b)] = args else {
        return no_such_overload();
    };
    for item in a.iter() {
        if b.contains(&item?)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn all_in<'a>(set: &List<'a>, subset: &List<'a>) -> Result<bool, EvalError> {
    for item in subset.iter() {
        if !set.contains(&item?)? {
            return Ok(false);
        }
    }
    Ok(true)
}
