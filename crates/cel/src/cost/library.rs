//! Estimates the cost of the functions of Kubernetes.

use crate::ast::{ExprKind, Literal};
use crate::types::Type;

use super::calls::CallEstimate;
use super::estimate::{Estimator, Node};
use super::ranges::{CostEstimate, SizeEstimate};
use super::{REGEX_FACTOR, STRING_FACTOR};

/// The assumed length of the pattern of a named format.
const FORMAT_PATTERN: f64 = 128.0;
/// The longest name of a format.
const FORMAT_SIZE: u64 = 64;

/// The size of a node, by the expression or by its declared type.
pub(super) fn size(node: &Node<'_>) -> SizeEstimate {
    node.size
        .or_else(|| Estimator::size_at(&node.path))
        .unwrap_or(SizeEstimate::UNKNOWN)
}

/// Returns `None` for functions that are not of Kubernetes.
pub(super) fn estimate<'c>(
    estimator: &Estimator<'c>,
    function: &str,
    overload: &str,
    target: Option<&Node<'c>>,
    args: &[Node<'c>],
) -> Option<CallEstimate> {
    let one = || Some(CallEstimate::cost(CostEstimate::fixed(1)));
    match function {
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
            traversal(estimator, target?)
        }
        "url" => match args {
            [arg] => {
                let size = size(arg);
                Some(CallEstimate::sized(size.cost(STRING_FACTOR), size))
            }
            _ => None,
        },
        "lowerAscii" | "upperAscii" | "substring" | "trim" => {
            let size = size(target?);
            Some(CallEstimate::sized(size.cost(STRING_FACTOR), size))
        }
        "replace" => match args {
            [old, new, ..] => Some(replace(size(target?), size(old), size(new))),
            _ => None,
        },
        "split" => {
            let size = size(target?);
            let most = match args.get(1).map(|limit| &limit.expr.kind) {
                Some(ExprKind::Literal(Literal::Int(limit))) => *limit as u64,
                _ => size.max,
            };
            let result = SizeEstimate { min: 0, max: most };
            Some(CallEstimate::sized(size.cost(2.0 * STRING_FACTOR), result))
        }
        "join" => Some(join(estimator, target?, args.first())),
        "find" | "findAll" => {
            let text = size(target?);
            let pattern = size(args.first()?).cost(REGEX_FACTOR);
            let cost = text.add(SizeEstimate::fixed(1)).cost(STRING_FACTOR);
            let result = SizeEstimate {
                min: 0,
                max: text.max,
            };
            Some(CallEstimate::sized(cost.times(pattern), result))
        }
        "ip" if overload == "cidr_ip" => one(),
        "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
            Some(CallEstimate::cost(size(args.first()?).cost(STRING_FACTOR)))
        }
        "ip.isCanonical" => {
            let cost = size(args.first()?).cost(2.0 * STRING_FACTOR);
            Some(CallEstimate::cost(cost))
        }
        "containsIP" | "containsCIDR" => {
            let address = SizeEstimate { min: 4, max: 16 };
            let mut cost = address.add(address).cost(STRING_FACTOR);
            if function == "containsCIDR" {
                cost = cost.add(address.cost(STRING_FACTOR));
                cost = cost.add(CostEstimate::fixed(1));
            }
            if matches!(
                overload,
                "cidr_contains_ip_string" | "cidr_contains_cidr_string"
            ) {
                cost = cost.add(size(args.first()?).cost(STRING_FACTOR));
            }
            Some(CallEstimate::cost(cost))
        }
        "validate" => {
            let cost = size(args.first()?).cost(STRING_FACTOR);
            Some(CallEstimate::cost(cost.by(FORMAT_PATTERN * REGEX_FACTOR)))
        }
        "masked"
        | "prefixLength"
        | "family"
        | "isUnspecified"
        | "isLoopback"
        | "isLinkLocalMulticast"
        | "isLinkLocalUnicast"
        | "isGlobalUnicast"
        | "format.named"
        | "sign"
        | "asInteger"
        | "isInteger"
        | "asApproximateFloat"
        | "isGreaterThan"
        | "isLessThan"
        | "compareTo"
        | "add"
        | "sub"
        | "major"
        | "minor"
        | "patch"
        | "getScheme"
        | "getHostname"
        | "getHost"
        | "getPort"
        | "getEscapedPath"
        | "getQuery" => one(),
        "_==_" => match args {
            [left, right] if left.of.name() == right.of.name() => equality(left.of, right),
            _ => None,
        },
        _ => None,
    }
}

/// Estimates the cost of reading every element of a list, or every character of a string.
fn traversal<'c>(estimator: &Estimator<'c>, target: &Node<'c>) -> Option<CallEstimate> {
    let cost = match element(target.of) {
        Some(of) => {
            let mut each = CostEstimate::fixed(1);
            if matches!(of, Type::String | Type::Bytes) {
                let text = element_size(estimator, target);
                each = each.add(text.cost(STRING_FACTOR));
            }
            size(target).cost_of_each(each)
        }
        None => size(target).cost(STRING_FACTOR),
    };
    Some(CallEstimate::cost(cost))
}

/// The first parameter of a type: what a list holds.
fn element(of: &Type) -> Option<&Type> {
    match of {
        Type::List(element) => Some(element),
        Type::Map(key, _) => Some(key),
        Type::Opaque(_, params) => params.first(),
        _ => None,
    }
}

/// The size of the elements of a list, by its declared type.
fn element_size<'c>(estimator: &Estimator<'c>, list: &Node<'c>) -> SizeEstimate {
    let path = estimator.elements_of(list.path.clone());
    Estimator::size_at(&path).unwrap_or(SizeEstimate::UNKNOWN)
}

fn replace(text: SizeEstimate, old: SizeEstimate, new: SizeEstimate) -> CallEstimate {
    let mut count = SizeEstimate { min: 0, max: 0 };
    let mut kept = SizeEstimate { min: 0, max: 0 };
    let times = |text: u64, part: u64| (text as f64 / part as f64).ceil() as u64;
    if old.min == 0 {
        // Nothing may be replaced: around every character.
        count.max = text.max.saturating_add(1);
        kept.max = text.max;
    } else if new.max <= old.min {
        kept.max = text.max;
    } else {
        count.max = times(text.max, old.min);
    }
    if old.max == 0 {
        count.min = text.min.saturating_add(1);
        kept.min = text.min;
    } else if old.max <= new.min {
        kept.min = text.min;
    } else {
        count.min = times(text.min, old.max);
    }
    let result = count.times(new).add(kept);
    CallEstimate::sized(text.cost(2.0 * STRING_FACTOR), result)
}

fn join<'c>(
    estimator: &Estimator<'c>,
    list: &Node<'c>,
    separator: Option<&Node<'c>>,
) -> CallEstimate {
    let count = size(list);
    let mut total = match element(list.of) {
        Some(_) => count.times(element_size(estimator, list)),
        None => SizeEstimate { min: 0, max: 0 },
    };
    if let Some(separator) = separator {
        let between = SizeEstimate {
            min: count.min.saturating_sub(1),
            max: count.max.saturating_sub(1),
        };
        total = total.add(size(separator).times(between));
    }
    CallEstimate::sized(total.cost(STRING_FACTOR), total)
}

fn equality(of: &Type, right: &Node<'_>) -> Option<CallEstimate> {
    let cost = match of.name() {
        "net.IP" | "net.CIDR" | "kubernetes.Quantity" | "kubernetes.Semver" => {
            CostEstimate::fixed(1)
        }
        "kubernetes.NamedFormat" => CostEstimate {
            min: 1,
            max: FORMAT_SIZE,
        }
        .by(STRING_FACTOR),
        "kubernetes.URL" => {
            let max = right.size.map_or(1, |size| size.max);
            CostEstimate { min: 1, max }.by(STRING_FACTOR)
        }
        _ => return None,
    };
    Some(CallEstimate::cost(cost))
}
