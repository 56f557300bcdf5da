//! Plans nodes from the checked tree.

use std::sync::Arc;

use crate::ast::{Comprehension, Entry, Expr, ExprKind, Literal, operators as op};
use crate::checker::{Checked, Reference};
use crate::cost::LIST_COST;
use crate::cost::runtime::CallCost;
use crate::escape::unescape;
use crate::functions::Function;
use crate::functions::conversion::is_conversion;
use crate::functions::regex::Search;
use crate::regex::Regex;
use crate::value::map::Entries;
use crate::value::{List, Map, Str, Value};

use super::attribute::{Attribute, Base, Key, Qualifier};
use super::constants::ConstantSet;
use super::{Call, FieldInit, Fold, MapEntry, Node, Program};

pub(super) fn plan(checked: &Checked) -> Result<Program, String> {
    let mut planner = Planner {
        checked,
        scopes: Vec::new(),
        slots: 0,
        used: 0,
        done: Vec::new(),
    };
    planner.node(&checked.root)?;
    let root = planner.done.pop().ok_or("no expression")?;
    Ok(Program {
        root,
        slots: planner.slots,
        used: planner.used,
    })
}

/// Keeps planned nodes that are not yet part of another on a separate stack, so that recursion needs little of the
/// thread's.
struct Planner<'c> {
    checked: &'c Checked,
    /// The variables of comprehensions and their slots, innermost last.
    scopes: Vec<(&'c str, usize)>,
    slots: usize,
    used: u64,
    done: Vec<Node>,
}

type Planned = Result<(), String>;

impl<'c> Planner<'c> {
    fn node(&mut self, expr: &'c Expr) -> Planned {
        match &expr.kind {
            ExprKind::Select { operand, .. } => self.node(operand)?,
            ExprKind::Call { target, args, .. } => {
                if let Some(target) = target {
                    self.node(target)?;
                }
                self.all(args)?;
            }
            ExprKind::List { elements, .. } => self.all(elements)?,
            ExprKind::Map(entries) => {
                for entry in entries {
                    self.node(&entry.key)?;
                    self.node(&entry.value)?;
                }
            }
            ExprKind::Struct { fields, .. } => {
                for field in fields {
                    self.node(&field.value)?;
                }
            }
            ExprKind::Comprehension(fold) => return self.fold(fold),
            _ => {}
        }
        self.finish(expr)
    }

    fn all(&mut self, exprs: &'c [Expr]) -> Planned {
        exprs.iter().try_for_each(|expr| self.node(expr))
    }

    /// Builds the node of an expression whose parts are planned.
    fn finish(&mut self, expr: &Expr) -> Planned {
        let node = match &expr.kind {
            ExprKind::Unspecified => return Err("unsupported expr".into()),
            ExprKind::Struct { type_name, fields } => {
                let nodes = self.pop_all(fields.len());
                let inits = fields.iter().zip(nodes);
                Node::Message {
                    of: type_name.strip_prefix('.').unwrap_or(type_name).into(),
                    fields: inits
                        .map(|(field, value)| FieldInit {
                            name: field.name.as_str().into(),
                            value,
                            optional: field.optional,
                        })
                        .collect(),
                }
            }
            ExprKind::Literal(literal) => Node::Constant(literal_value(literal)),
            ExprKind::Ident(name) => self.ident(expr, name),
            ExprKind::Select {
                field, test_only, ..
            } => {
                let mut attribute = attribute_to_extend(self.pop()?);
                attribute.qualifiers.push(Qualifier {
                    key: Key::Field(field.clone(), unescape(field)),
                    optional: false,
                });
                attribute.test = *test_only;
                Node::Attribute(attribute)
            }
            ExprKind::Call {
                target,
                function,
                args,
            } => {
                let count = args.len() + usize::from(target.is_some());
                let nodes = self.pop_all(count);
                self.call(expr, function, nodes)?
            }
            ExprKind::List { elements, optional } => {
                let nodes = self.pop_all(elements.len());
                list(nodes, optional)
            }
            ExprKind::Map(entries) => {
                let nodes = self.pop_all(2 * entries.len());
                map(nodes, entries)
            }
            ExprKind::Comprehension(_) => return Err("unsupported expr".into()),
        };
        self.done.push(node);
        Ok(())
    }

    fn ident(&mut self, expr: &Expr, name: &str) -> Node {
        let base = match self.checked.reference(expr.id) {
            Some(Reference::Type(of)) => return Node::Constant(Value::Type(of.clone())),
            Some(Reference::Variable(number)) => {
                let bit = u32::try_from(*number).ok();
                self.used |= bit.and_then(|bit| 1u64.checked_shl(bit)).unwrap_or(0);
                Base::Variable(*number, name.to_owned())
            }
            _ => match self.scopes.iter().rfind(|(local, _)| *local == name) {
                Some((_, slot)) => Base::Slot(*slot),
                None => Base::Variable(usize::MAX, name.to_owned()),
            },
        };
        attribute(base)
    }

    fn call(&self, expr: &Expr, function: &str, nodes: Vec<Node>) -> Result<Node, String> {
        let nodes = match (function, <[Node; 2]>::try_from(nodes)) {
            (op::AND, Ok(terms)) => return Ok(Node::And(Box::new(terms))),
            (op::OR, Ok(terms)) => return Ok(Node::Or(Box::new(terms))),
            (op::EQUALS, Ok(args)) => return Ok(equal(args, false)),
            (op::NOT_EQUALS, Ok(args)) => return Ok(equal(args, true)),
            (op::INDEX, Ok([operand, key])) => return index(operand, key, false),
            (op::OPT_INDEX | op::OPT_SELECT, Ok([operand, key])) => {
                return index(operand, key, true);
            }
            ("or" | "orValue", Ok(args)) => {
                return Ok(Node::OptionalOr {
                    args: Box::new(args),
                    value: function == "orValue",
                });
            }
            (_, Ok(args)) => Vec::from(args),
            (_, Err(args)) => args,
        };
        let nodes = match (function, <[Node; 3]>::try_from(nodes)) {
            (op::CONDITIONAL, Ok([condition, yes, no])) => {
                return Ok(conditional(condition, yes, no));
            }
            (_, Ok(args)) => Vec::from(args),
            (_, Err(args)) => args,
        };
        let Some(Reference::Function(found, overloads)) = self.checked.reference(expr.id) else {
            return Err(format!("no such overload: {function}"));
        };
        plan_function(found, overloads, nodes)
    }

    fn fold(&mut self, fold: &'c Comprehension) -> Planned {
        self.node(&fold.init)?;
        self.node(&fold.range)?;
        let outer = self.scopes.len();
        let accu_slot = self.declare(&fold.accu_var);
        let iter_slot = self.declare(&fold.iter_var);
        let iter_slot2 = fold.iter_var2.as_deref().map(|name| self.declare(name));
        self.node(&fold.condition)?;
        self.step(fold, accu_slot)?;
        self.scopes.truncate(outer + 1);
        self.node(&fold.result)?;
        self.scopes.truncate(outer);
        self.finish_fold(accu_slot, iter_slot, iter_slot2)
    }

    fn finish_fold(&mut self, accu: usize, iter: usize, iter2: Option<usize>) -> Planned {
        let parts = <[Node; 5]>::try_from(self.pop_all(5));
        let Ok([init, range, condition, step, result]) = parts else {
            return Err("unsupported expr".into());
        };
        self.done.push(Node::Fold(Box::new(Fold {
            range,
            iter_slot: iter,
            iter_slot2: iter2,
            accu_slot: accu,
            init,
            condition,
            step,
            result,
        })));
        Ok(())
    }

    fn declare(&mut self, name: &'c str) -> usize {
        let slot = self.slots;
        self.slots += 1;
        self.scopes.push((name, slot));
        slot
    }

    /// Plans the step of a fold, which adds to its accumulator in place.
    fn step(&mut self, fold: &'c Comprehension, slot: usize) -> Planned {
        let in_place = match &fold.init.kind {
            ExprKind::List { elements, .. } => elements.is_empty(),
            ExprKind::Map(entries) => entries.is_empty(),
            _ => false,
        };
        if !in_place {
            return self.node(&fold.step);
        }
        if let ExprKind::Call { function, args, .. } = &fold.step.kind
            && let (op::CONDITIONAL, [condition, yes, no]) = (function.as_str(), args.as_slice())
            && is_named(no, &fold.accu_var)
        {
            self.node(condition)?;
            self.addition(yes, slot, &fold.accu_var)?;
            self.node(no)?;
            return self.finish_conditional();
        }
        self.addition(&fold.step, slot, &fold.accu_var)
    }

    fn finish_conditional(&mut self) -> Planned {
        let (no, yes, condition) = (self.pop()?, self.pop()?, self.pop()?);
        self.done.push(conditional(condition, yes, no));
        Ok(())
    }

    fn addition(&mut self, step: &'c Expr, slot: usize, accumulator: &str) -> Planned {
        let ExprKind::Call { function, args, .. } = &step.kind else {
            return self.node(step);
        };
        match (function.as_str(), args.as_slice()) {
            (op::ADD, [first, list]) if is_named(first, accumulator) => {
                if let ExprKind::List { elements, optional } = &list.kind
                    && let ([element], [false]) = (elements.as_slice(), optional.as_slice())
                {
                    self.node(element)?;
                    return self.finish_append(slot);
                }
                self.node(step)
            }
            (op::MAP_INSERT, [first, rest @ ..]) if is_named(first, accumulator) => {
                self.all(rest)?;
                let args = self.pop_all(rest.len());
                self.done.push(Node::Insert { slot, args });
                Ok(())
            }
            _ => self.node(step),
        }
    }

    fn finish_append(&mut self, slot: usize) -> Planned {
        let element = self.pop()?;
        // A list of a constant is a constant.
        let list_cost = match element {
            Node::Constant(_) => 0,
            _ => LIST_COST,
        };
        self.done.push(Node::Append {
            slot,
            element: Box::new(element),
            list_cost,
        });
        Ok(())
    }

    fn pop(&mut self) -> Result<Node, String> {
        self.done.pop().ok_or_else(|| "unsupported expr".into())
    }

    fn pop_all(&mut self, count: usize) -> Vec<Node> {
        self.done.split_off(self.done.len().saturating_sub(count))
    }
}

fn is_named(expr: &Expr, wanted: &str) -> bool {
    matches!(&expr.kind, ExprKind::Ident(name) if name == wanted)
}

fn attribute(base: Base) -> Node {
    Node::Attribute(Attribute {
        base,
        qualifiers: Vec::new(),
        test: false,
    })
}

fn conditional(condition: Node, yes: Node, no: Node) -> Node {
    let parts = (condition, attribute_of(yes), attribute_of(no));
    attribute(Base::Conditional(Box::new(parts)))
}

fn list(nodes: Vec<Node>, optional: &[bool]) -> Node {
    let constant = |node: &Node| matches!(node, Node::Constant(_));
    if nodes.iter().all(constant) && !optional.contains(&true) {
        let values = nodes.into_iter().filter_map(into_constant).collect();
        return Node::Constant(Value::List(List::new(values)));
    }
    Node::List {
        elements: nodes,
        optional: optional.to_vec(),
    }
}

fn map(nodes: Vec<Node>, entries: &[Entry]) -> Node {
    let constant = nodes.iter().all(|node| matches!(node, Node::Constant(_)))
        && entries.iter().all(|entry| !entry.optional);
    let mut nodes = nodes.into_iter();
    if constant {
        let mut out = Entries::default();
        while let (Some(Node::Constant(key)), Some(Node::Constant(value))) =
            (nodes.next(), nodes.next())
        {
            out.insert(key, value);
        }
        return Node::Constant(Value::Map(Map::Values(Arc::new(out))));
    }
    let mut out = Vec::with_capacity(entries.len());
    for entry in entries {
        if let (Some(key), Some(value)) = (nodes.next(), nodes.next()) {
            out.push(MapEntry {
                key,
                value,
                optional: entry.optional,
            });
        }
    }
    Node::Map(out)
}

fn equal(args: [Node; 2], negated: bool) -> Node {
    let cost = match negated {
        false => CallCost::of(op::EQUALS, "equals"),
        true => CallCost::of(op::NOT_EQUALS, "not_equals"),
    };
    Node::Equal {
        args: Box::new(args),
        negated,
        cost,
    }
}

fn index(operand: Node, key: Node, optional: bool) -> Result<Node, String> {
    let mut attribute = attribute_to_extend(operand);
    let key = match key {
        Node::Constant(Value::String(name)) => Key::Field(name.to_string(), unescape(&name)),
        Node::Constant(
            key @ (Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_)),
        ) => Key::Constant(key),
        Node::Constant(other) => {
            return Err(format!("invalid qualifier type: {}", other.type_name()));
        }
        Node::Attribute(attribute) => Key::Attribute(attribute),
        node => Key::Node(node),
    };
    attribute.qualifiers.push(Qualifier { key, optional });
    Ok(Node::Attribute(attribute))
}

/// A node as an attribute that can take further qualifiers.
fn attribute_to_extend(node: Node) -> Attribute {
    match node {
        Node::Attribute(attribute) if !attribute.test => attribute,
        node => Attribute {
            base: Base::Value(Box::new(node)),
            qualifiers: Vec::new(),
            test: false,
        },
    }
}

/// A node as an attribute, for a branch of a condition.
fn attribute_of(node: Node) -> Attribute {
    match node {
        Node::Attribute(attribute) => attribute,
        node => attribute_to_extend(node),
    }
}

fn into_constant(node: Node) -> Option<Value<'static>> {
    match node {
        Node::Constant(value) => Some(value),
        _ => None,
    }
}

fn plan_function(
    function: &Arc<Function>,
    overloads: &[usize],
    mut args: Vec<Node>,
) -> Result<Node, String> {
    let only = match overloads {
        [only] => function.overloads.get(*only),
        _ => None,
    };
    let id = only.map_or("", |overload| &*overload.id);
    let cost = CallCost::of(function.name, id);
    if function.name == op::NOT_STRICTLY_FALSE
        && let Some(arg) = args.pop()
    {
        return Ok(Node::NotStrictlyFalse(Box::new(arg)));
    }
    if is_conversion(function.name)
        && let [Node::Constant(value)] = args.as_slice()
    {
        let value = function
            .call(overloads, std::slice::from_ref(value))
            .map_err(|error| error.to_string())?;
        return Ok(Node::Constant(value));
    }
    if id == "in_list"
        && let [_, Node::Constant(Value::List(list))] = args.as_slice()
    {
        if list.is_empty() {
            return Ok(Node::Constant(Value::Bool(false)));
        }
        if let Some(set) = ConstantSet::new(list)
            && let Some(value) = args.drain(..1).next()
        {
            return Ok(Node::InConstants(Box::new(value), set));
        }
    }
    if let Some(search) = Search::of(function.name)
        && let Some(Node::Constant(Value::String(pattern))) = args.get(1)
    {
        let regex = Regex::compile(pattern)?;
        return Ok(Node::Search {
            search,
            regex,
            args,
            cost,
        });
    }
    let dispatched = function.shared.is_none() && only.is_none();
    let overloads = match dispatched {
        true => (0..function.overloads.len()).collect(),
        false => overloads.to_vec(),
    };
    Ok(Node::Call(Box::new(Call {
        stops_early: args.len() > 2 || dispatched || function.name == "format",
        function: function.clone(),
        overloads,
        args,
        cost,
    })))
}

fn literal_value(literal: &Literal) -> Value<'static> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(b) => Value::Bool(*b),
        Literal::Int(i) => Value::Int(*i),
        Literal::Uint(u) => Value::Uint(*u),
        Literal::Double(d) => Value::Double(*d),
        Literal::String(text) => Value::String(Str::of(text.as_str())),
        Literal::Bytes(bytes) => Value::Bytes(Arc::from(bytes.as_slice())),
    }
}
