//! Counts cost while an expression runs.

use crate::ast::operators as op;
use crate::value::{EvalError, EvalResult, List, Value};

use super::calls::is_comparison;
use super::{CHECK_COST, LIST_COST, REGEX_FACTOR, STRING_FACTOR};

/// The cost of an evaluation so far, and its limit.
#[derive(Debug)]
pub(crate) struct Meter {
    cost: u64,
    limit: u64,
}

/// The way to compute the cost of a call. Decided once for each call of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallCost {
    One,
    /// Every element of the receiver, with its content.
    Traversal,
    /// The characters of the first argument, times 0.1.
    Text,
    /// Twice the size of the arguments.
    TextTwice,
    /// The characters of the result, twice, times 0.1.
    ResultTwice,
    /// The size of the text, times that of the pattern.
    Regex,
    ContainsIp {
        text: bool,
    },
    ContainsCidr {
        text: bool,
    },
    Validate,
    Equality,
    /// The smaller of two sizes, times 0.1.
    Smaller,
    /// Both sizes, times 0.1.
    Both,
    Contains,
    /// The elements of the second argument.
    InList,
    Sets(u64),
    ResultList,
    Flatten,
    /// Every pair of elements of an argument.
    Pairs(usize),
    /// An authorization check.
    Check,
}

impl Meter {
    pub(crate) fn new(limit: u64) -> Self {
        Self { cost: 0, limit }
    }

    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    pub(crate) fn charge(&mut self, cost: u64) -> Result<(), EvalError> {
        self.cost = self.cost.saturating_add(cost);
        match self.cost > self.limit {
            true => Err(EvalError::CostLimitExceeded),
            false => Ok(()),
        }
    }

    /// Refunds the cost of a test for presence.
    pub(crate) fn refund(&mut self, cost: u64) {
        self.cost = self.cost.saturating_sub(cost);
    }
}

impl CallCost {
    /// Returns the way to count calls of a function. `overload` is empty if several are possible.
    pub(crate) fn of(function: &str, overload: &str) -> Self {
        match overload {
            "list_sets_contains_list" | "list_sets_intersects_list" => return Self::Sets(1),
            "list_sets_equivalent_list" => return Self::Sets(2),
            "list_slice" | "lists_range" | "list_reverse" => return Self::ResultList,
            "list_flatten" | "list_flatten_int" => return Self::Flatten,
            "list_distinct" => return Self::Pairs(0),
            _ => {}
        }
        match function {
            "sort" if !overload.is_empty() => Self::Pairs(0),
            "@sortByAssociatedKeys" if !overload.is_empty() => Self::Pairs(1),
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => Self::Traversal,
            "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "cidr" | "isIP"
            | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver" => Self::Text,
            "replace" | "split" | "ip.isCanonical" => Self::TextTwice,
            "join" => Self::ResultTwice,
            "find" | "findAll" => Self::Regex,
            "ip" if overload == "cidr_ip" => Self::One,
            "ip" => Self::Text,
            "containsIP" => Self::ContainsIp {
                text: overload == "cidr_contains_ip_string",
            },
            "containsCIDR" => Self::ContainsCidr {
                text: overload == "cidr_contains_cidr_string",
            },
            "validate" => Self::Validate,
            "check" => Self::Check,
            op::EQUALS => Self::Equality,
            _ => match overload {
                "starts_with_string" | "ends_with_string" | "string_to_bytes"
                | "bytes_to_string" | "strings_quote" | "string_format" => Self::Text,
                "in_list" => Self::InList,
                "add_string" | "add_bytes" => Self::Both,
                "matches_string" => Self::Regex,
                "contains_string" => Self::Contains,
                id if is_comparison(id) => Self::Smaller,
                _ => Self::One,
            },
        }
    }

    /// Returns the cost of a call. An argument that is an error has the size 1.
    pub(crate) fn count(self, args: &[EvalResult<'_>], result: &EvalResult<'_>) -> u64 {
        let size = |at: usize| match args.get(at) {
            Some(Ok(Value::Optional(Some(value)))) if self.unwraps() => value.cost_size(),
            Some(Ok(value)) => value.cost_size(),
            _ => 1,
        };
        let text = |size: u64| tenths(size as f64);
        match self {
            Self::One => 1,
            Self::Check => CHECK_COST,
            Self::Traversal => match args.first() {
                Some(Ok(value)) => traversal(value),
                _ => 1,
            },
            Self::Text => text(size(0)),
            Self::TextTwice => (size(0) as f64 * 2.0 * STRING_FACTOR).ceil() as u64,
            Self::ResultTwice => {
                let size = result.as_ref().map_or(1, Value::cost_size);
                (size as f64 * 2.0 * STRING_FACTOR).ceil() as u64
            }
            Self::Regex => {
                let pattern = (size(1) as f64 * REGEX_FACTOR).ceil() as u64;
                tenths(1.0 + size(0) as f64).saturating_mul(pattern)
            }
            Self::ContainsIp { text: by_text } => {
                text(2 * size(0)) + if by_text { text(size(1)) } else { 0 }
            }
            Self::ContainsCidr { text: by_text } => {
                let compare = text(2 * size(0)) + text(size(0)) + 1;
                compare + if by_text { text(size(1)) } else { 0 }
            }
            Self::Validate => match args.first() {
                Some(Ok(Value::Format(format))) => {
                    let pattern = (format.regex_size as f64 * REGEX_FACTOR).ceil() as u64;
                    tenths(1.0 + size(1) as f64).saturating_mul(pattern)
                }
                _ => 1,
            },
            Self::Equality => match args.first() {
                Some(Ok(
                    Value::Quantity(_)
                    | Value::Ip(_)
                    | Value::Cidr(..)
                    | Value::Format(_)
                    | Value::Url(_)
                    | Value::Semver(_),
                )) => 1,
                _ => text(size(0).min(size(1))),
            },
            Self::Smaller => text(size(0).min(size(1))),
            Self::Both => text(size(0) + size(1)),
            Self::Contains => text(size(0)).saturating_mul(text(size(1))),
            Self::InList => size(1),
            Self::Sets(factor) => 1 + size(0).saturating_mul(size(1)).saturating_mul(factor),
            Self::ResultList => {
                let size = result.as_ref().map_or(1, Value::cost_size);
                size + 1 + LIST_COST
            }
            Self::Flatten => {
                let depth = match args.get(1) {
                    Some(Ok(Value::Int(depth))) => *depth as f64,
                    _ => 1.0,
                };
                // A negative depth is an error by now, and wraps.
                ((size(0) as f64 * depth) as i64 as u64).wrapping_add(1 + LIST_COST)
            }
            Self::Pairs(at) => match args.get(at) {
                Some(Ok(Value::List(list))) => pairs(list),
                _ => 1,
            },
        }
    }

    /// Reports whether the cost is known only with the result. All other calls are charged before they are made.
    pub(crate) fn needs_result(self) -> bool {
        matches!(self, Self::ResultTwice | Self::ResultList)
    }

    /// Reports whether the contents of an optional count. The functions of the language look into it, the others do
    /// not.
    fn unwraps(self) -> bool {
        matches!(
            self,
            Self::Smaller | Self::Equality | Self::Both | Self::InList | Self::Contains
        )
    }
}

fn tenths(size: f64) -> u64 {
    (size * STRING_FACTOR).ceil() as u64
}

fn pairs(list: &List<'_>) -> u64 {
    let text = matches!(list.get(0), Some(Ok(Value::String(_) | Value::Bytes(_))));
    let factor = if text { 2.0 + STRING_FACTOR } else { 2.0 };
    let size = list.len() as u64;
    (size.saturating_mul(size) as f64 * factor) as u64 + 1 + LIST_COST
}

/// Every scalar one, every ten bytes of text one.
fn traversal(value: &Value<'_>) -> u64 {
    match value {
        Value::String(text) => (text.len() as f64 * STRING_FACTOR) as u64,
        Value::Bytes(bytes) => (bytes.len() as f64 * STRING_FACTOR) as u64,
        Value::List(list) => list
            .iter()
            .map(|item| item.map_or(1, |item| traversal(&item)))
            .sum(),
        Value::Map(map) => map
            .iter()
            .map(|(key, value)| traversal(&key) + value.map_or(1, |v| traversal(&v)))
            .sum(),
        _ => 1,
    }
}
