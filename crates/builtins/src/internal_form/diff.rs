//! Computes unified diffs of two texts, with three lines of context, matched like Python's difflib:
//! the longest common block first, then the same to its left and right.

use std::collections::HashMap;

const CONTEXT: usize = 3;

/// A block that both texts have: its positions in the first and second text, and its length.
type Block = (usize, usize, usize);

/// Returns the difference without a header; empty if there is none.
pub(super) fn unified(old: &str, new: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let mut out = String::new();
    for group in groups(&changes(&a, &b)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let head = (range(first.0, last.1), range(first.2, last.3));
        out.push_str(&format!("@@ -{} +{} @@\n", head.0, head.1));
        for (a_from, a_to, b_from, b_to, equal) in group.iter().copied() {
            let mut put = |sign: char, lines: &[&str]| {
                for line in lines {
                    out.push(sign);
                    out.push_str(line);
                    out.push('\n');
                }
            };
            if equal {
                put(' ', &a[a_from..a_to]);
            } else {
                put('-', &a[a_from..a_to]);
                put('+', &b[b_from..b_to]);
            }
        }
    }
    out
}

/// A stretch of both texts, equal or not.
type Change = (usize, usize, usize, usize, bool);

fn range(from: usize, to: usize) -> String {
    match to - from {
        1 => format!("{}", from + 1),
        0 => format!("{from},0"),
        length => format!("{},{length}", from + 1),
    }
}

/// The equal and different sections, in order.
fn changes(a: &[&str], b: &[&str]) -> Vec<Change> {
    let mut out = Vec::new();
    let (mut i, mut j) = (0, 0);
    let mut found = blocks(a, b);
    found.push((a.len(), b.len(), 0));
    for (ai, bj, length) in found {
        if i < ai || j < bj {
            out.push((i, ai, j, bj, false));
        }
        (i, j) = (ai + length, bj + length);
        if length > 0 {
            out.push((ai, i, bj, j, true));
        }
    }
    out
}

/// Groups changes with their context; changes that are near each other share a group.
fn groups(changes: &[Change]) -> Vec<Vec<Change>> {
    let mut codes = changes.to_vec();
    if let Some(first) = codes.first_mut().filter(|c| c.4) {
        first.0 = first.0.max(first.1.saturating_sub(CONTEXT));
        first.2 = first.2.max(first.3.saturating_sub(CONTEXT));
    }
    if let Some(last) = codes.last_mut().filter(|c| c.4) {
        last.1 = last.1.min(last.0 + CONTEXT);
        last.3 = last.3.min(last.2 + CONTEXT);
    }
    let (mut out, mut group) = (Vec::new(), Vec::new());
    for (mut a_from, a_to, mut b_from, b_to, equal) in codes {
        if equal && a_to - a_from > 2 * CONTEXT {
            group.push((
                a_from,
                a_to.min(a_from + CONTEXT),
                b_from,
                b_to.min(b_from + CONTEXT),
                true,
            ));
            out.push(std::mem::take(&mut group));
            a_from = a_from.max(a_to.saturating_sub(CONTEXT));
            b_from = b_from.max(b_to.saturating_sub(CONTEXT));
        }
        group.push((a_from, a_to, b_from, b_to, equal));
    }
    out.push(group);
    out.retain(|group| group.iter().any(|c| !c.4));
    out
}

/// The maximum number of pairs of equal lines that are examined. Texts that have more of them share no further blocks,
/// so they are printed as removed and added; the time to compare them would grow with their square.
const MAX_PAIRS: usize = 2_000_000;

/// The common blocks in order, neighbours joined.
fn blocks(a: &[&str], b: &[&str]) -> Vec<Block> {
    let places = places(b);
    let mut pairs = MAX_PAIRS;
    let mut todo = vec![(0, a.len(), 0, b.len())];
    let mut found = Vec::new();
    while let Some((a_low, a_high, b_low, b_high)) = todo.pop() {
        let (i, j, length) = longest(a, b, &places, (a_low, a_high, b_low, b_high), &mut pairs);
        if length == 0 {
            continue;
        }
        found.push((i, j, length));
        todo.push((a_low, i, b_low, j));
        todo.push((i + length, a_high, j + length, b_high));
    }
    found.sort_unstable();
    let mut joined: Vec<Block> = Vec::new();
    for (i, j, length) in found {
        match joined.last_mut() {
            Some(last) if last.0 + last.2 == i && last.1 + last.2 == j => last.2 += length,
            _ => joined.push((i, j, length)),
        }
    }
    joined
}

/// Returns the positions of each line of the second text. In long texts, very frequent lines are ignored.
fn places<'a>(b: &[&'a str]) -> HashMap<&'a str, Vec<usize>> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (i, line) in b.iter().enumerate() {
        places.entry(line).or_default().push(i);
    }
    if b.len() >= 200 {
        let most = b.len() / 100 + 1;
        places.retain(|_, at| at.len() <= most);
    }
    places
}

fn longest(
    a: &[&str],
    b: &[&str],
    places: &HashMap<&str, Vec<usize>>,
    (a_low, a_high, b_low, b_high): (usize, usize, usize, usize),
    pairs: &mut usize,
) -> Block {
    let (mut i, mut j, mut size) = (a_low, b_low, 0);
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for (k, line) in a.iter().enumerate().take(a_high).skip(a_low) {
        if *pairs == 0 {
            return (a_low, b_low, 0);
        }
        *pairs -= 1;
        let mut next = HashMap::new();
        for &at in places.get(line).map(Vec::as_slice).unwrap_or_default() {
            if at < b_low {
                continue;
            }
            if at >= b_high {
                break;
            }
            *pairs = pairs.saturating_sub(1);
            let before = at
                .checked_sub(1)
                .and_then(|p| lengths.get(&p))
                .copied()
                .unwrap_or_default();
            let length = before + 1;
            next.insert(at, length);
            if length > size {
                (i, j, size) = (k + 1 - length, at + 1 - length, length);
            }
        }
        lengths = next;
    }
    while i > a_low && j > b_low && a[i - 1] == b[j - 1] {
        (i, j, size) = (i - 1, j - 1, size + 1);
    }
    while i + size < a_high && j + size < b_high && a[i + size] == b[j + size] {
        size += 1;
    }
    (i, j, size)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::unified;

    #[test]
    fn large_texts_are_compared_in_bounded_time() {
        let lines = |step: usize| -> String {
            let line = |i: usize| format!("line {}\n", i * step % 149);
            (0..100_000).map(line).collect()
        };
        let start = Instant::now();
        assert!(!unified(&lines(1), &lines(7)).is_empty());
        assert!(start.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn far_changes_stand_apart() {
        let old: Vec<String> = (0..30).map(|i| i.to_string()).collect();
        let mut new = old.clone();
        new[2] = "x".into();
        new[25] = "y".into();
        let text = unified(&old.join("\n"), &new.join("\n"));
        assert_eq!(text.matches("@@ -").count(), 2);
        assert!(text.starts_with("@@ -1,6 +1,6 @@\n 0\n 1\n-2\n+x\n 3\n"));
    }

    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(unified("a\nb", "a\nb"), "");
    }
}
