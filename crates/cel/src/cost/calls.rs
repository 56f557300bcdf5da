//! Estimates the cost of calls.

use crate::ast::{Expr, ExprKind, Literal};

use super::estimate::{EntrySize, Estimator, Node};
use super::library;
use super::ranges::{CostEstimate, SizeEstimate};
use super::{LIST_COST, REGEX_FACTOR, STRING_FACTOR};

/// The cost of a call, and the size of its result if known.
pub(super) struct CallEstimate {
    pub(super) cost: CostEstimate,
    pub(super) result: Option<SizeEstimate>,
}

impl CallEstimate {
    pub(super) fn cost(cost: CostEstimate) -> Self {
        Self { cost, result: None }
    }

    pub(super) fn sized(cost: CostEstimate, result: SizeEstimate) -> Self {
        Self {
            cost,
            result: Some(result),
        }
    }
}

impl<'c> Estimator<'c> {
    pub(super) fn function_cost(
        &mut self,
        expr: &'c Expr,
        function: &str,
        overload: &str,
        target: Option<&Node<'c>>,
        args: &[Node<'c>],
        costs: &[CostEstimate],
    ) -> CallEstimate {
        let all = costs
            .iter()
            .fold(CostEstimate::fixed(0), |sum, cost| sum.add(*cost));
        let call = lists(function, overload, target, args)
            .or_else(|| library::estimate(self, function, overload, target, args));
        if let Some(call) = call {
            return CallEstimate {
                cost: call.cost.add(all),
                ..call
            };
        }
        let known = |node: &Node<'_>| node.size.unwrap_or(SizeEstimate::UNKNOWN);
        match (overload, target, args) {
            ("string_format", Some(target), _) => {
                CallEstimate::cost(known(target).cost(STRING_FACTOR).add(all))
            }
            ("string_to_bytes", _, [arg]) => {
                let size = known(arg);
                let result = SizeEstimate {
                    min: size.min,
                    max: size.max.wrapping_mul(4),
                };
                CallEstimate::sized(size.cost(STRING_FACTOR).add(all), result)
            }
            ("bytes_to_string", _, [arg]) => {
                let size = known(arg);
                let result = SizeEstimate {
                    min: size.min / 4,
                    max: size.max,
                };
                CallEstimate::sized(size.cost(STRING_FACTOR).add(all), result)
            }
            ("strings_quote", _, [arg]) => {
                let size = known(arg);
                let result = SizeEstimate {
                    min: size.min.wrapping_add(2),
                    max: size.max.wrapping_mul(2).wrapping_add(2),
                };
                CallEstimate::sized(size.cost(STRING_FACTOR).add(all), result)
            }
            ("starts_with_string" | "ends_with_string", _, [arg]) => {
                CallEstimate::cost(known(arg).cost(STRING_FACTOR).add(all))
            }
            ("in_list", _, [_, list]) => CallEstimate::cost(known(list).cost(1.0).add(all)),
            ("matches_string", Some(target), [pattern]) => {
                let text = known(target)
                    .add(SizeEstimate::fixed(1))
                    .cost(STRING_FACTOR);
                let pattern = known(pattern).cost(REGEX_FACTOR);
                CallEstimate::cost(text.times(pattern).add(all))
            }
            ("contains_string", Some(target), [part]) => {
                let text = known(target).cost(STRING_FACTOR);
                let part = known(part).cost(STRING_FACTOR);
                CallEstimate::cost(text.times(part).add(all))
            }
            ("logical_or" | "logical_and", _, _) => {
                let first = costs.first().copied().unwrap_or_default();
                CallEstimate::cost(CostEstimate {
                    min: first.min,
                    max: all.max,
                })
            }
            ("conditional", _, [_, yes, no]) => {
                let size = known(yes).union(known(no));
                let entry = EntrySize::union(self.entry_size(yes.expr), self.entry_size(no.expr));
                self.set_entry_size(expr, entry);
                let cost = |at: usize| costs.get(at).copied().unwrap_or_default();
                CallEstimate::sized(cost(0).add(cost(1).union(cost(2))), size)
            }
            ("add_string" | "add_bytes" | "add_list", _, [left, right]) => {
                let size = known(left).add(known(right));
                let entry =
                    EntrySize::union(self.entry_size(left.expr), self.entry_size(right.expr));
                self.set_entry_size(expr, entry);
                let cost = match overload {
                    "add_list" => CostEstimate::fixed(1),
                    _ => size.cost(STRING_FACTOR),
                };
                CallEstimate::sized(cost.add(all), size)
            }
            (id, _, [left, right]) if is_comparison(id) => {
                let max = known(left).max.min(known(right).max);
                let cost = CostEstimate {
                    min: u64::from(max > 0),
                    max,
                };
                CallEstimate::cost(cost.by(STRING_FACTOR).add(all))
            }
            _ => CallEstimate::cost(CostEstimate::fixed(1).add(all)),
        }
    }
}

/// Reports whether an overload is a comparison that may have to read every character.
pub(super) fn is_comparison(overload: &str) -> bool {
    matches!(
        overload,
        "less_string"
            | "greater_string"
            | "less_equals_string"
            | "greater_equals_string"
            | "less_bytes"
            | "greater_bytes"
            | "less_equals_bytes"
            | "greater_equals_bytes"
            | "equals"
            | "not_equals"
    )
}

/// The list extensions and sets.
fn lists(
    function: &str,
    overload: &str,
    target: Option<&Node<'_>>,
    args: &[Node<'_>],
) -> Option<CallEstimate> {
    let allocating = |factor: f64, size: SizeEstimate| {
        let cost = size.cost(factor).add(CostEstimate::fixed(1 + LIST_COST));
        Some(CallEstimate::sized(cost, size))
    };
    match (overload, target, args) {
        ("list_slice", Some(target), [start, end]) => {
            let start = literal_int(start).unwrap_or(0);
            let end = literal_int(end).unwrap_or(library::size(target).max);
            allocating(1.0, SizeEstimate::fixed(end.wrapping_sub(start)))
        }
        ("lists_range", None, [end]) => {
            let end = literal_int(end).unwrap_or(u64::MAX);
            allocating(1.0, SizeEstimate::fixed(end))
        }
        ("list_reverse", Some(target), []) => allocating(1.0, library::size(target)),
        ("list_flatten", Some(target), []) => allocating(1.0, library::size(target)),
        ("list_flatten_int", Some(target), [depth]) => {
            let depth = literal_int(depth).unwrap_or(u64::MAX);
            allocating(depth as f64, library::size(target))
        }
        ("list_distinct", Some(target), []) => {
            let size = library::size(target);
            allocating(2.0, size.times(size))
        }
        ("list_sets_contains_list" | "list_sets_intersects_list", _, [a, b]) => {
            let cost = library::size(a).times(library::size(b)).cost(1.0);
            Some(CallEstimate::cost(cost.add(CostEstimate::fixed(1))))
        }
        ("list_sets_equivalent_list", _, [a, b]) => {
            let cost = library::size(a).times(library::size(b)).cost(2.0);
            Some(CallEstimate::cost(cost.add(CostEstimate::fixed(1))))
        }
        _ => {
            let keys = match function {
                "sort" => target?,
                "@sortByAssociatedKeys" => args.first()?,
                _ => return None,
            };
            let text = matches!(
                overload,
                "list_string_sort"
                    | "list_bytes_sort"
                    | "list_string_sortByAssociatedKeys"
                    | "list_bytes_sortByAssociatedKeys"
            );
            let factor = if text { 2.0 + STRING_FACTOR } else { 2.0 };
            let size = library::size(keys);
            allocating(factor, size.times(size))
        }
    }
}

/// The value of a literal int that is not negative; 0 for one that is.
fn literal_int(node: &Node<'_>) -> Option<u64> {
    match &node.expr.kind {
        ExprKind::Literal(Literal::Int(i)) => Some(u64::try_from(*i).unwrap_or(0)),
        _ => None,
    }
}
