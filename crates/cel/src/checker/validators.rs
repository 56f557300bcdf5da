//! Checks of literals: durations, times and patterns that cannot be read, lists of mixed types, formats that do not
//! fit their arguments.

use crate::ast::{Expr, ExprId, ExprKind, Literal};
use crate::functions::format::{self, Clause, Piece};
use crate::regex::Regex;
use crate::types::Type;
use crate::value::{Str, Value};

use super::Checker;

pub(super) fn validate(checker: &mut Checker<'_>, root: &Expr) {
    let mut found = Vec::new();
    literal_arguments(checker, root, &mut found);
    mixtures(checker, root, false, &mut found);
    formats(checker, root, &mut found);
    for (id, what) in found {
        checker.report(id, what);
    }
}

type Found = Vec<(ExprId, String)>;

/// `duration("x")`, `timestamp("x")` and `matches("[")`.
fn literal_arguments(checker: &Checker<'_>, root: &Expr, found: &mut Found) {
    root.walk(&mut |expr| {
        let ExprKind::Call { function, args, .. } = &expr.kind else {
            return;
        };
        let Some(arg) = args.first() else { return };
        let ExprKind::Literal(literal) = &arg.kind else {
            return;
        };
        let valid = match (function.as_str(), literal) {
            ("matches", Literal::String(pattern)) => Regex::compile(pattern).is_ok(),
            ("duration" | "timestamp", Literal::String(text)) => {
                let value = Value::String(Str::Borrowed(text));
                converts(checker, function, value)
            }
            ("duration" | "timestamp", Literal::Int(number)) => {
                converts(checker, function, Value::Int(*number))
            }
            _ => true,
        };
        if !valid {
            found.push((arg.id, format!("invalid {function} argument")));
        }
    });
}

fn converts(checker: &Checker<'_>, function: &str, value: Value<'_>) -> bool {
    let Some(function) = checker.env.function(function) else {
        return true;
    };
    let all: Vec<usize> = (0..function.overloads.len()).collect();
    function.call(&all, &[value]).is_ok()
}

/// Rejects lists and maps of more than one type, except in arguments of `format`.
fn mixtures(checker: &Checker<'_>, expr: &Expr, exempt: bool, found: &mut Found) {
    if !exempt {
        match &expr.kind {
            ExprKind::List { elements, optional } => {
                let types = elements.iter().enumerate().map(|(at, element)| {
                    let optional = optional.get(at).copied().unwrap_or(false);
                    (element.id, held(checker, element.id, optional))
                });
                mixture(types, true, found);
            }
            ExprKind::Map(entries) => {
                let keys = entries
                    .iter()
                    .map(|e| (e.key.id, checker.type_of(e.key.id)));
                mixture(keys, false, found);
                let values = entries
                    .iter()
                    .map(|e| (e.value.id, held(checker, e.value.id, e.optional)));
                mixture(values, false, found);
            }
            _ => {}
        }
    }
    let exempt =
        exempt || matches!(&expr.kind, ExprKind::Call { function, .. } if function == "format");
    let mut each = |child: &Expr| mixtures(checker, child, exempt, found);
    match &expr.kind {
        ExprKind::Select { operand, .. } => each(operand),
        ExprKind::Call { target, args, .. } => {
            target.iter().for_each(|target| each(target));
            args.iter().for_each(each);
        }
        ExprKind::List { elements, .. } => elements.iter().for_each(each),
        ExprKind::Map(entries) => entries.iter().for_each(|entry| {
            each(&entry.key);
            each(&entry.value);
        }),
        ExprKind::Comprehension(fold) => {
            for part in [
                &fold.range,
                &fold.init,
                &fold.condition,
                &fold.step,
                &fold.result,
            ] {
                each(part);
            }
        }
        _ => {}
    }
}

fn held(checker: &Checker<'_>, id: ExprId, optional: bool) -> Type {
    let of = checker.type_of(id);
    match of.optional_value() {
        Some(inner) if optional => inner.clone(),
        _ => of,
    }
}

fn mixture(types: impl Iterator<Item = (ExprId, Type)>, stop: bool, found: &mut Found) {
    let mut wanted: Option<Type> = None;
    for (id, of) in types {
        match &wanted {
            None => wanted = Some(of),
            Some(wanted) if !is_equivalent(wanted, &of) => {
                let what = format!("expected type '{wanted}' but found '{of}'");
                found.push((id, what));
                if stop {
                    return;
                }
            }
            Some(_) => {}
        }
    }
}

/// The same type, with `dyn` in parameters matching any type.
fn is_equivalent(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Param(_), _) | (_, Type::Param(_)) => true,
        (Type::List(x), Type::List(y)) => is_equivalent(x, y),
        (Type::Map(ak, av), Type::Map(bk, bv)) => is_equivalent(ak, bk) && is_equivalent(av, bv),
        (Type::Type(_), Type::Type(_)) => true,
        (Type::Opaque(an, ap), Type::Opaque(bn, bp)) => {
            an == bn && ap.iter().zip(bp.iter()).all(|(x, y)| is_equivalent(x, y))
        }
        (a, b) => a == b,
    }
}

/// `"%d".format(["a"])`
fn formats(checker: &Checker<'_>, root: &Expr, found: &mut Found) {
    root.walk(&mut |expr| {
        let ExprKind::Call {
            target: Some(target),
            function,
            args,
        } = &expr.kind
        else {
            return;
        };
        let (ExprKind::Literal(Literal::String(text)), "format", [list]) =
            (&target.kind, function.as_str(), args.as_slice())
        else {
            return;
        };
        let ExprKind::List { elements, .. } = &list.kind else {
            return;
        };
        let (pieces, error) = format::clauses(text, elements.len());
        let clauses = pieces.iter().filter_map(|piece| match piece {
            Piece::Clause(clause) => Some(*clause),
            Piece::Text(_) => None,
        });
        let mut used = 0;
        for (clause, element) in clauses.zip(elements) {
            used += 1;
            if let Some((id, of)) = refused(checker, clause, element) {
                found.push((id, clause.refuse(of.name())));
                return;
            }
        }
        if let Some(error) = error {
            found.push((expr.id, error));
        } else if elements.len() > used {
            let what = format!(
                "too many arguments supplied to string.format (expected {used}, got {})",
                elements.len()
            );
            found.push((expr.id, what));
        }
    });
}

/// The part of an argument that the clause cannot write, and its type.
fn refused(checker: &Checker<'_>, clause: Clause, arg: &Expr) -> Option<(ExprId, Type)> {
    let of = checker.type_of(arg.id);
    let fits = match (clause, &of) {
        (_, Type::Dyn | Type::Any) => true,
        (Clause::Decimal | Clause::Octal, Type::Int | Type::Uint) => true,
        (Clause::Fixed(_) | Clause::Scientific, Type::Double | Type::String) => true,
        (Clause::Binary, Type::Int | Type::Uint | Type::Bool) => true,
        (Clause::Hex { .. }, Type::Int | Type::Uint | Type::String | Type::Bytes) => true,
        (Clause::String, Type::Object(_) | Type::Opaque(..) | Type::Error) => false,
        (Clause::String, _) => true,
        _ => false,
    };
    if !fits {
        return Some((arg.id, of));
    }
    if clause != Clause::String {
        return None;
    }
    match &arg.kind {
        ExprKind::List { elements, .. } => {
            elements.iter().find_map(|e| refused(checker, clause, e))
        }
        ExprKind::Map(entries) => entries.iter().find_map(|entry| {
            refused(checker, clause, &entry.key).or_else(|| refused(checker, clause, &entry.value))
        }),
        _ => None,
    }
}
