//! Lists: order, sums, slices.

use std::cmp::Ordering;

use crate::ast::operators as op;
use crate::value::{EvalError, EvalResult, List, Value, equality, order};

use super::operators::add;
use super::{Implementation, Registry, no_such_overload};

const COMPARABLE: [&str; 8] = [
    "int",
    "uint",
    "double",
    "bool",
    "duration",
    "timestamp",
    "string",
    "bytes",
];
/// The same as sorting names and orders them.
const SORTABLE: [&str; 8] = [
    "int",
    "uint",
    "double",
    "bool",
    "duration",
    "timestamp",
    "string",
    "bytes",
];

pub(super) fn declare(r: &mut Registry) {
    for of in COMPARABLE {
        let list = format!("list({of})");
        r.member(
            "isSorted",
            format!("list_{of}_is_sorted_bool"),
            &list,
            "bool",
            is_sorted as Implementation,
        );
        r.member(
            "max",
            format!("list_{of}_max_{of}"),
            &list,
            of,
            max as Implementation,
        );
        r.member(
            "min",
            format!("list_{of}_min_{of}"),
            &list,
            of,
            min as Implementation,
        );
    }
    let sums: [(&str, Implementation); 4] = [
        ("int", |a| sum(a, Value::Int(0))),
        ("uint", |a| sum(a, Value::Uint(0))),
        ("double", |a| sum(a, Value::Double(0.0))),
        ("duration", |a| sum(a, Value::Duration(0))),
    ];
    for (of, implementation) in sums {
        r.member(
            "sum",
            format!("list_{of}_sum_{of}"),
            &format!("list({of})"),
            of,
            implementation,
        );
    }
    r.member(
        "indexOf",
        "list_a_index_of_int",
        "list(A) A",
        "int",
        index_of as Implementation,
    );
    r.member(
        "lastIndexOf",
        "list_a_last_index_of_int",
        "list(A) A",
        "int",
        last_index_of as Implementation,
    );
    r.member(
        "slice",
        "list_slice",
        "list(T) int int",
        "list(T)",
        slice as Implementation,
    );
    r.member(
        "flatten",
        "list_flatten",
        "list(list(T))",
        "list(T)",
        flatten as Implementation,
    );
    r.member(
        "flatten",
        "list_flatten_int",
        "list(dyn) int",
        "list(dyn)",
        flatten as Implementation,
    );
    r.unguarded("flatten");
    for of in SORTABLE {
        let name = crate::functions::signature::types(of);
        let name = name.first().map_or("", |t| t.name()).to_owned();
        r.member(
            "sort",
            format!("list_{name}_sort"),
            &format!("list({of})"),
            &format!("list({of})"),
            None,
        );
        r.member(
            op::SORT_BY_KEYS,
            format!("list_{name}_sortByAssociatedKeys"),
            &format!("list(T) list({of})"),
            "list(T)",
            None,
        );
    }
    r.shared("sort", sort);
    r.shared(op::SORT_BY_KEYS, sort_by_keys);
    r.global(
        "lists.range",
        "lists_range",
        "int",
        "list(int)",
        range as Implementation,
    );
    r.member(
        "reverse",
        "list_reverse",
        "list(T)",
        "list(T)",
        reverse as Implementation,
    );
    r.member(
        "distinct",
        "list_distinct",
        "list(T)",
        "list(T)",
        distinct as Implementation,
    );
    r.member(
        "first",
        "list_first",
        "list(V)",
        "opt(V)",
        first as Implementation,
    );
    r.member(
        "last",
        "list_last",
        "list(V)",
        "opt(V)",
        last as Implementation,
    );
}

/// All elements, or the error of the first element that is invalid.
pub(crate) fn elements<'a>(list: &List<'a>) -> Result<Vec<Value<'a>>, EvalError> {
    list.iter().collect()
}

fn is_sorted<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::List(list)] = args else {
        return no_such_overload();
    };
    let mut last: Option<Value<'a>> = None;
    for item in list.iter() {
        let item = item?;
        if !order::is_ordered(&item) {
            return no_such_overload();
        }
        if let Some(last) = &last
            && order::compare(last, &item) == Ok(Ordering::Greater)
        {
            return Ok(Value::Bool(false));
        }
        last = Some(item);
    }
    Ok(Value::Bool(true))
}

fn sum<'a>(args: &[Value<'a>], zero: Value<'a>) -> EvalResult<'a> {
    let [Value::List(list)] = args else {
        return no_such_overload();
    };
    let mut total = zero;
    for item in list.iter() {
        total = add(&[total, item?])?;
    }
    Ok(total)
}

fn max<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    extreme(args, "max", Ordering::Less)
}

fn min<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    extreme(args, "min", Ordering::Greater)
}

fn extreme<'a>(args: &[Value<'a>], name: &str, replaced_if: Ordering) -> EvalResult<'a> {
    let [Value::List(list)] = args else {
        return no_such_overload();
    };
    let mut best: Option<Value<'a>> = None;
    for item in list.iter() {
        let item = item?;
        if !order::is_ordered(&item) {
            return no_such_overload();
        }
        match &best {
            Some(best) if order::compare(best, &item) != Ok(replaced_if) => {}
            _ => best = Some(item),
        }
    }
    best.ok_or_else(|| EvalError::new(format!("{name} called on empty list")))
}

fn index_of<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::List(list), wanted] = args else {
        return no_such_overload();
    };
    let same = |item: EvalResult<'a>| item.is_ok_and(|i| equality::equal(&i, wanted) == Ok(true));
    let found = list.iter().position(same);
    Ok(Value::Int(found.map_or(-1, |at| at as i64)))
}

fn last_index_of<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::List(list), wanted] = args else {
        return no_such_overload();
    };
    let same = |item: Option<EvalResult<'a>>| {
        item.is_some_and(|item| item.is_ok_and(|i| equality::equal(&i, wanted) == Ok(true)))
    };
    let found = (0..list.len()).rev().find(|at| same(list.get(*at)));
    Ok(Value::Int(found.map_or(-1, |at| at as i64)))
}

fn slice<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::List(list), Value::Int(start), Value::Int(end)] = args else {
        return no_such_overload();
    };
    let refuse = |why: String| {
        Err(EvalError::new(format!(
            "cannot slice({start}, {end}), {why}"
        )))
    };
    if *start < 0 || *end < 0 {
        return refuse("negative indexes not supported".into());
    }
    if start > end {
        return refuse("start index must be less than or equal to end index".into());
    }
    if (list.len() as i64) < *end {
        return refuse(format!("list is length {}", list.len()));
    }
    let range = *start as usize..*end as usize;
    let items: Result<_, _> = range.filter_map(|at| list.get(at)).collect();
    Ok(Value::List(List::new(items?)))
}

fn flatten<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let (list, depth) = match args {
        [Value::List(list)] => (list, 1),
        [Value::List(list), Value::Int(depth)] => (list, *depth),
        _ => {
            let of = |at: usize| args.get(at).map_or("", Value::type_name);
            let depth = if args.len() > 1 { of(1) } else { "" };
            return Err(EvalError::new(format!(
                "no such overload: {}.flatten({depth})",
                of(0)
            )));
        }
    };
    if depth < 0 {
        return Err(EvalError::new("level must be non-negative"));
    }
    let mut out = Vec::new();
    flatten_into(list, depth, &mut out)?;
    Ok(Value::List(List::new(out)))
}

/// Lists nest no deeper than documents or expressions do.
fn flatten_into<'a>(
    list: &List<'a>,
    depth: i64,
    out: &mut Vec<Value<'a>>,
) -> Result<(), EvalError> {
    for item in list.iter() {
        match item? {
            Value::List(inner) if depth > 0 => flatten_into(&inner, depth - 1, out)?,
            item => out.push(item),
        }
    }
    Ok(())
}

fn sort<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [list] => sort_by_keys(&[list.clone(), list.clone()]),
        _ => no_such_overload(),
    }
}

fn sort_by_keys<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::List(list), Value::List(keys)] = args else {
        let function = if args.len() == 2 {
            op::SORT_BY_KEYS
        } else {
            "sort"
        };
        return Err(EvalError::new(format!("no such overload: {function}")));
    };
    if list.len() != keys.len() {
        return Err(EvalError::new(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} elements respectively",
            list.len(),
            keys.len()
        )));
    }
    let keys = elements(keys)?;
    let Some(first) = keys.first() else {
        return Ok(Value::List(list.clone()));
    };
    if !order::is_ordered(first) {
        return Err(EvalError::new("list elements must be comparable"));
    }
    if keys.iter().any(|key| key.type_name() != first.type_name()) {
        return Err(EvalError::new("list elements must have the same type"));
    }
    let mut pairs: Vec<(Value<'a>, Value<'a>)> = keys.into_iter().zip(elements(list)?).collect();
    pairs.sort_by(|(a, _), (b, _)| order::compare(a, b).unwrap_or(Ordering::Equal));
    let sorted = pairs.into_iter().map(|(_, value)| value).collect();
    Ok(Value::List(List::new(sorted)))
}

fn range<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        // A result that exceeds every cost limit need not be computed.
        [Value::Int(end)] if *end > MAX_RANGE => Err(EvalError::CostLimitExceeded),
        [Value::Int(end)] => Ok(Value::List(List::new((0..*end).map(Value::Int).collect()))),
        _ => no_such_overload(),
    }
}

/// The maximum number of elements, whose cost is ten times [`crate::limits::PER_CALL_LIMIT`].
const MAX_RANGE: i64 = 10_000_000;

fn reverse<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::List(list)] = args else {
        return no_such_overload();
    };
    let mut items = elements(list)?;
    items.reverse();
    Ok(Value::List(List::new(items)))
}

fn distinct<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::List(list)] = args else {
        return no_such_overload();
    };
    let mut out: Vec<Value<'a>> = Vec::new();
    for item in list.iter() {
        let item = item?;
        if !out.iter().any(|o| equality::equal(&item, o) == Ok(true)) {
            out.push(item);
        }
    }
    Ok(Value::List(List::new(out)))
}

fn first<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    end(args, true)
}

fn last<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    end(args, false)
}

fn end<'a>(args: &[Value<'a>], first: bool) -> EvalResult<'a> {
    let [Value::List(list)] = args else {
        return no_such_overload();
    };
    let at = if first { 0 } else { list.len().wrapping_sub(1) };
    match list.get(at) {
        Some(item) => Ok(Value::some(item?)),
        None => Ok(Value::none()),
    }
}
