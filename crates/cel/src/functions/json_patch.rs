//! `jsonpatch.escapeKey`: a key as it stands in a JSON pointer.

use crate::value::{EvalResult, Str, Value};

use super::{Registry, no_such_overload};

pub(super) fn declare(r: &mut Registry) {
    r.global(
        "jsonpatch.escapeKey",
        "string_jsonpatch_escapeKey_string",
        "string",
        "string",
        escape_key as super::Implementation,
    );
}

fn escape_key<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::String(key)] => {
            let escaped = key.replace('~', "~0").replace('/', "~1");
            Ok(Value::String(Str::of(escaped)))
        }
        _ => no_such_overload(),
    }
}
