//! The natural order of keys: runs of digits compare as numbers, other signs come before letters.
//!
//! Letters are those with Unicode's alphabetic property, digits those of ASCII. For keys in ASCII that is exact;
//! beyond it, combining marks count as letters here.

use std::iter::Peekable;

/// Sorts items by their keys.
///
/// Runs of more than 18 digits wrap around, so the order is none in the strict sense. The merge sort here takes any
/// answer; that of the standard library may panic.
pub(super) fn natural<T>(items: Vec<T>, key: impl Fn(&T) -> &str + Copy) -> Vec<T> {
    let mut runs: Vec<Vec<T>> = items.into_iter().map(|item| vec![item]).collect();
    while runs.len() > 1 {
        let mut longer = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(left) = pairs.next() {
            longer.push(match pairs.next() {
                Some(right) => merge(left, right, key),
                None => left,
            });
        }
        runs = longer;
    }
    runs.pop().unwrap_or_default()
}

fn merge<T>(left: Vec<T>, right: Vec<T>, key: impl Fn(&T) -> &str) -> Vec<T> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(l), Some(r)) = (left.peek(), right.peek()) {
        let take = if less(key(r), key(l)) {
            &mut right
        } else {
            &mut left
        };
        merged.extend(take.next());
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

/// Reports whether `a` comes before `b`.
fn less(a: &str, b: &str) -> bool {
    let (mut left, mut right) = (a.chars().peekable(), b.chars().peekable());
    // Whether the digits right before are more than zeros.
    let mut in_number = false;
    loop {
        let (l, r) = match (left.peek().copied(), right.peek().copied()) {
            (Some(l), Some(r)) => (l, r),
            (l, r) => return l.is_none() && r.is_some(),
        };
        if l == r {
            in_number = l.is_ascii_digit() && (in_number || l != '0');
            left.next();
            right.next();
            continue;
        }
        return match (is_letter(l), is_letter(r)) {
            (true, true) => l < r,
            (false, false) => {
                // A zero counts only behind another digit.
                let carried = i64::from(in_number && (l == '0' || r == '0'));
                (run(&mut left, carried), l) < (run(&mut right, carried), r)
            }
            (_, right_is_letter) => right_is_letter,
        };
    }
}

/// The number that the digits to come make, and how many they are.
fn run(chars: &mut Peekable<impl Iterator<Item = char>>, carried: i64) -> (i64, usize) {
    let mut number = carried;
    let mut length = 0;
    while let Some(digit) = chars
        .next_if(char::is_ascii_digit)
        .and_then(|c| c.to_digit(10))
    {
        number = number.wrapping_mul(10).wrapping_add(i64::from(digit));
        length += 1;
    }
    (number, length)
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() && !c.is_numeric()
}
