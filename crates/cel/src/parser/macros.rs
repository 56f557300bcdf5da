//! Expands macros: calls that stand for a comprehension or a test.
//!
//! | macro | expands to |
//! |---|---|
//! | `has(a.b)` | a selection that only tests |
//! | `all`, `exists`, `exists_one`, `map`, `filter` | a fold with one variable |
//! | `all`, `exists`, `existsOne` with two variables, `transformList`, `transformMap`, `transformMapEntry` | a fold with two variables |
//! | `optMap`, `optFlatMap` | a condition on `hasValue()` around a binding |
//! | `cel.bind`, in environments that have it | a binding |
//! | `sortBy` | a binding around a fold that makes the keys |
//!
//! Nodes created here have the position of the call's parenthesis.

use crate::ast::{Comprehension, Expr, ExprId, ExprKind, Literal, operators as op};

use super::grammar::Parser;
use super::nodes::Nodes;

/// The accumulator of every fold. No source can name it.
const ACCUMULATOR: &str = "@result";
/// The former name of the accumulator, which sources could use.
const OLD_ACCUMULATOR: &str = "__result__";
const UNUSED: &str = "#unused";
const SORT_INPUT: &str = "@__sortBy_input__";

/// The call, or its expansion if it is a macro.
pub(super) fn call(
    parser: &mut Parser<'_, '_>,
    id: ExprId,
    function: String,
    target: Option<Expr>,
    args: Vec<Expr>,
) -> Expr {
    let binds = parser.bindings && is_bind(&function, target.as_ref(), args.len());
    let expander = match binds {
        true => Some(bind as Expander),
        false => find(&function, target.is_some(), args.len()),
    };
    let Some(expander) = expander else {
        let target = target.map(Box::new);
        let kind = ExprKind::Call {
            target,
            function,
            args,
        };
        return Expr { id, kind };
    };
    let offset = parser.nodes.offset(id);
    let mut factory = Factory {
        nodes: &mut parser.nodes,
        offset,
    };
    let expanded = expander(&mut factory, target, args);
    match expanded {
        Ok(expr) => {
            parser.nodes.delete(id);
            expr
        }
        Err((at, what)) => {
            let offset = parser.nodes.offset(at);
            parser.nodes.delete(id);
            parser.error_at(offset, &what)
        }
    }
}

/// The position and reason of a macro that cannot be expanded.
type MacroError = (ExprId, String);
type Expanded = Result<Expr, MacroError>;
type Expander = fn(&mut Factory<'_>, Option<Expr>, Vec<Expr>) -> Expanded;

fn find(function: &str, member: bool, args: usize) -> Option<Expander> {
    let expander: Expander = match (function, member, args) {
        ("has", false, 1) => has,
        ("all", true, 2) => |f, t, a| quantifier(f, t, a, Quantifier::All),
        ("exists", true, 2) => |f, t, a| quantifier(f, t, a, Quantifier::Exists),
        ("exists_one", true, 2) => |f, t, a| quantifier(f, t, a, Quantifier::ExistsOne),
        ("map", true, 2 | 3) => map,
        ("filter", true, 2) => filter,
        ("all", true, 3) => |f, t, a| quantifier(f, t, a, Quantifier::All),
        ("exists", true, 3) => |f, t, a| quantifier(f, t, a, Quantifier::Exists),
        ("exists_one" | "existsOne", true, 3) => {
            |f, t, a| quantifier(f, t, a, Quantifier::ExistsOne)
        }
        ("transformList", true, 3 | 4) => |f, t, a| transform(f, t, a, Transform::List),
        ("transformMap", true, 3 | 4) => |f, t, a| transform(f, t, a, Transform::Map),
        ("transformMapEntry", true, 3 | 4) => |f, t, a| transform(f, t, a, Transform::Entry),
        ("optMap", true, 2) => |f, t, a| opt_map(f, t, a, false),
        ("optFlatMap", true, 2) => |f, t, a| opt_map(f, t, a, true),
        ("sortBy", true, 2) => sort_by,
        _ => return None,
    };
    Some(expander)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quantifier {
    All,
    Exists,
    ExistsOne,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Transform {
    List,
    Map,
    Entry,
}

/// Creates nodes at the position of the macro.
struct Factory<'n> {
    nodes: &'n mut Nodes,
    offset: u32,
}

impl Factory<'_> {
    fn literal(&mut self, value: Literal) -> Expr {
        self.nodes.literal(self.offset, value)
    }

    fn ident(&mut self, name: &str) -> Expr {
        self.nodes
            .node(self.offset, ExprKind::Ident(name.to_owned()))
    }

    fn accumulator(&mut self) -> Expr {
        self.ident(ACCUMULATOR)
    }

    fn list(&mut self, elements: Vec<Expr>) -> Expr {
        let optional = vec![false; elements.len()];
        self.nodes
            .node(self.offset, ExprKind::List { elements, optional })
    }

    fn call(&mut self, function: &str, args: Vec<Expr>) -> Expr {
        let kind = ExprKind::Call {
            target: None,
            function: function.to_owned(),
            args,
        };
        self.nodes.node(self.offset, kind)
    }

    fn member_call(&mut self, function: &str, target: Expr, args: Vec<Expr>) -> Expr {
        let kind = ExprKind::Call {
            target: Some(Box::new(target)),
            function: function.to_owned(),
            args,
        };
        self.nodes.node(self.offset, kind)
    }

    fn copy(&mut self, expr: &Expr) -> Expr {
        self.nodes.copy(expr, self.offset)
    }

    fn fold(&mut self, fold: Comprehension) -> Expr {
        self.nodes
            .node(self.offset, ExprKind::Comprehension(Box::new(fold)))
    }

    /// Binds `name` to `value` in `body`: a fold over nothing.
    fn bind(&mut self, range: Expr, name: &str, value: Expr, step: Expr, body: Expr) -> Expr {
        let condition = self.literal(Literal::Bool(false));
        self.fold(Comprehension {
            range,
            iter_var: UNUSED.to_owned(),
            iter_var2: None,
            accu_var: name.to_owned(),
            init: value,
            condition,
            step,
            result: body,
        })
    }
}

fn has(factory: &mut Factory<'_>, _: Option<Expr>, args: Vec<Expr>) -> Expanded {
    let arg = only(args)?;
    match arg.kind {
        ExprKind::Select { operand, field, .. } => Ok(factory.nodes.node(
            factory.offset,
            ExprKind::Select {
                operand,
                field,
                test_only: true,
            },
        )),
        _ => Err((arg.id, "invalid argument to has() macro".into())),
    }
}

fn quantifier(
    factory: &mut Factory<'_>,
    target: Option<Expr>,
    mut args: Vec<Expr>,
    kind: Quantifier,
) -> Expanded {
    let predicate = args.pop().ok_or_else(lost)?;
    let (iter_var, iter_var2) = variables(&args, "argument must be a simple name")?;
    let (init, condition, step, result);
    match kind {
        Quantifier::All => {
            init = factory.literal(Literal::Bool(true));
            let so_far = factory.accumulator();
            condition = factory.call(op::NOT_STRICTLY_FALSE, vec![so_far]);
            let so_far = factory.accumulator();
            step = factory.call(op::AND, vec![so_far, predicate]);
            result = factory.accumulator();
        }
        Quantifier::Exists => {
            init = factory.literal(Literal::Bool(false));
            let so_far = factory.accumulator();
            let not = factory.call(op::NOT, vec![so_far]);
            condition = factory.call(op::NOT_STRICTLY_FALSE, vec![not]);
            let so_far = factory.accumulator();
            step = factory.call(op::OR, vec![so_far, predicate]);
            result = factory.accumulator();
        }
        Quantifier::ExistsOne => {
            init = factory.literal(Literal::Int(0));
            condition = factory.literal(Literal::Bool(true));
            let so_far = factory.accumulator();
            let one = factory.literal(Literal::Int(1));
            let more = factory.call(op::ADD, vec![so_far, one]);
            let so_far = factory.accumulator();
            step = factory.call(op::CONDITIONAL, vec![predicate, more, so_far]);
            let count = factory.accumulator();
            let one = factory.literal(Literal::Int(1));
            result = factory.call(op::EQUALS, vec![count, one]);
        }
    }
    Ok(factory.fold(Comprehension {
        range: target.ok_or_else(lost)?,
        iter_var,
        iter_var2,
        accu_var: ACCUMULATOR.to_owned(),
        init,
        condition,
        step,
        result,
    }))
}

fn map(factory: &mut Factory<'_>, target: Option<Expr>, mut args: Vec<Expr>) -> Expanded {
    let value = args.pop().ok_or_else(lost)?;
    let filter = (args.len() > 1).then(|| args.pop()).flatten();
    let (iter_var, _) = variables(&args, "argument is not an identifier")?;
    let init = factory.list(Vec::new());
    let condition = factory.literal(Literal::Bool(true));
    let so_far = factory.accumulator();
    let more = factory.list(vec![value]);
    let step = factory.call(op::ADD, vec![so_far, more]);
    let step = filtered(factory, filter, step);
    let result = factory.accumulator();
    Ok(factory.fold(Comprehension {
        range: target.ok_or_else(lost)?,
        iter_var,
        iter_var2: None,
        accu_var: ACCUMULATOR.to_owned(),
        init,
        condition,
        step,
        result,
    }))
}

fn filter(factory: &mut Factory<'_>, target: Option<Expr>, mut args: Vec<Expr>) -> Expanded {
    let predicate = args.pop().ok_or_else(lost)?;
    let (iter_var, _) = variables(&args, "argument is not an identifier")?;
    let init = factory.list(Vec::new());
    let condition = factory.literal(Literal::Bool(true));
    let so_far = factory.accumulator();
    let more = factory.list(args);
    let step = factory.call(op::ADD, vec![so_far, more]);
    let step = filtered(factory, Some(predicate), step);
    let result = factory.accumulator();
    Ok(factory.fold(Comprehension {
        range: target.ok_or_else(lost)?,
        iter_var,
        iter_var2: None,
        accu_var: ACCUMULATOR.to_owned(),
        init,
        condition,
        step,
        result,
    }))
}

fn transform(
    factory: &mut Factory<'_>,
    target: Option<Expr>,
    mut args: Vec<Expr>,
    kind: Transform,
) -> Expanded {
    let value = args.pop().ok_or_else(lost)?;
    let filter = (args.len() > 2).then(|| args.pop()).flatten();
    let (iter_var, iter_var2) = variables(&args, "argument must be a simple name")?;
    let so_far = factory.accumulator();
    let step = match kind {
        Transform::List => {
            let more = factory.list(vec![value]);
            factory.call(op::ADD, vec![so_far, more])
        }
        Transform::Map => {
            let key = factory.ident(&iter_var);
            factory.call(op::MAP_INSERT, vec![so_far, key, value])
        }
        Transform::Entry => factory.call(op::MAP_INSERT, vec![so_far, value]),
    };
    let step = filtered(factory, filter, step);
    let init = match kind {
        Transform::List => factory.list(Vec::new()),
        _ => factory
            .nodes
            .node(factory.offset, ExprKind::Map(Vec::new())),
    };
    let condition = factory.literal(Literal::Bool(true));
    let result = factory.accumulator();
    Ok(factory.fold(Comprehension {
        range: target.ok_or_else(lost)?,
        iter_var,
        iter_var2,
        accu_var: ACCUMULATOR.to_owned(),
        init,
        condition,
        step,
        result,
    }))
}

fn opt_map(
    factory: &mut Factory<'_>,
    target: Option<Expr>,
    mut args: Vec<Expr>,
    flat: bool,
) -> Expanded {
    let target = target.ok_or_else(lost)?;
    let body = args.pop().ok_or_else(lost)?;
    let variable = only(args)?;
    let ExprKind::Ident(name) = &variable.kind else {
        let function = if flat { "optFlatMap" } else { "optMap" };
        let what = format!("{function}() variable name must be a simple identifier");
        return Err((variable.id, what));
    };
    let copy = factory.copy(&target);
    let present = factory.member_call("hasValue", target, Vec::new());
    let range = factory.list(Vec::new());
    let value = factory.member_call("value", copy, Vec::new());
    let step = factory.ident(name);
    let bound = factory.bind(range, name, value, step, body);
    let yes = match flat {
        true => bound,
        false => factory.call("optional.of", vec![bound]),
    };
    let no = factory.call("optional.none", Vec::new());
    Ok(factory.call(op::CONDITIONAL, vec![present, yes, no]))
}

fn is_bind(function: &str, target: Option<&Expr>, args: usize) -> bool {
    let namespace = target.map(|target| &target.kind);
    function == "bind"
        && args == 3
        && matches!(namespace, Some(ExprKind::Ident(name)) if name == "cel")
}

fn bind(factory: &mut Factory<'_>, _: Option<Expr>, mut args: Vec<Expr>) -> Expanded {
    let body = args.pop().ok_or_else(lost)?;
    let value = args.pop().ok_or_else(lost)?;
    let variable = only(args)?;
    let ExprKind::Ident(name) = &variable.kind else {
        let what = "cel.bind() variable names must be simple identifiers";
        return Err((variable.id, what.into()));
    };
    let range = factory.list(Vec::new());
    let step = factory.ident(name);
    Ok(factory.bind(range, name, value, step, body))
}

fn sort_by(factory: &mut Factory<'_>, target: Option<Expr>, args: Vec<Expr>) -> Expanded {
    let target = target.ok_or_else(lost)?;
    if !matches!(
        target.kind,
        ExprKind::List { .. }
            | ExprKind::Select { .. }
            | ExprKind::Ident(_)
            | ExprKind::Comprehension(_)
            | ExprKind::Call { .. }
    ) {
        let what = "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
        return Err((target.id, what.into()));
    }
    let input = factory.ident(SORT_INPUT);
    let range = factory.copy(&input);
    let keys = map(factory, Some(range), args)?;
    let list = factory.copy(&input);
    let sorted = factory.member_call(op::SORT_BY_KEYS, list, vec![keys]);
    let range = factory.list(Vec::new());
    Ok(factory.bind(range, SORT_INPUT, target, input, sorted))
}

/// `filter ? step : accumulator`
fn filtered(factory: &mut Factory<'_>, filter: Option<Expr>, step: Expr) -> Expr {
    let Some(filter) = filter else { return step };
    let so_far = factory.accumulator();
    factory.call(op::CONDITIONAL, vec![filter, step, so_far])
}

/// The names of one or two iteration variables.
fn variables(args: &[Expr], not_a_name: &str) -> Result<(String, Option<String>), MacroError> {
    let mut names = Vec::with_capacity(2);
    for arg in args {
        let ExprKind::Ident(name) = &arg.kind else {
            return Err((arg.id, not_a_name.into()));
        };
        names.push(name.clone());
    }
    if let [first, second] = names.as_slice()
        && first == second
    {
        let at = args.last().map_or(0, |arg| arg.id);
        return Err((at, format!("duplicate variable name: {first}")));
    }
    for (arg, name) in args.iter().zip(&names) {
        if name == ACCUMULATOR || name == OLD_ACCUMULATOR {
            let what = "iteration variable overwrites accumulator variable";
            return Err((arg.id, what.into()));
        }
    }
    let mut names = names.into_iter();
    Ok((names.next().ok_or_else(lost)?, names.next()))
}

fn only(args: Vec<Expr>) -> Result<Expr, MacroError> {
    args.into_iter().next().ok_or_else(lost)
}

/// Returns the error of a missing argument, which cannot happen: macros are found by their number of arguments.
fn lost() -> MacroError {
    (0, "missing argument".into())
}
