//! Shows a plan as a unified diff.

use std::fmt::Write;

use super::{Change, Plan};

/// The number of context lines around a change.
const AROUND: usize = 3;

/// The limit for the product of the line counts before and after; larger files are shown as replaced, since comparing takes quadratic
/// time.
const COMPARED: usize = 4_000_000;

#[derive(Clone, Copy, PartialEq)]
enum Step {
    Keep,
    Remove,
    Add,
}

impl Plan {
    /// Returns the changes in the format of `diff -u`.
    pub fn diff(&self) -> String {
        self.changes.iter().map(of_file).collect()
    }
}

fn of_file(change: &Change) -> String {
    let name = |side: &str, text: &Option<String>| match text {
        Some(_) => format!("{side}/{}", change.path),
        None => "/dev/null".to_owned(),
    };
    let mut out = format!(
        "--- {}\n+++ {}\n",
        name("a", &change.before),
        name("b", &change.after)
    );
    let before: Vec<&str> = change.before.iter().flat_map(|text| text.lines()).collect();
    let after: Vec<&str> = change.after.iter().flat_map(|text| text.lines()).collect();
    let steps = steps(&before, &after);
    let changed = |at: usize| steps[at] != Step::Keep;
    let mut at = 0;
    while let Some(first) = (at..steps.len()).find(|&i| changed(i)) {
        let start = first.saturating_sub(AROUND).max(at);
        let mut end = first;
        while let Some(next) =
            (end + 1..steps.len().min(end + 2 * AROUND + 2)).find(|&i| changed(i))
        {
            end = next;
        }
        let end = (end + AROUND + 1).min(steps.len());
        hunk(&mut out, &steps, &before, &after, start..end);
        at = end;
    }
    out
}

fn hunk(
    out: &mut String,
    steps: &[Step],
    before: &[&str],
    after: &[&str],
    range: std::ops::Range<usize>,
) {
    let count =
        |steps: &[Step], without: Step| steps.iter().filter(|step| **step != without).count();
    let (head, body) = (&steps[..range.start], &steps[range]);
    let (mut old, mut new) = (count(head, Step::Add), count(head, Step::Remove));
    let (olds, news) = (count(body, Step::Add), count(body, Step::Remove));
    let line = |at: usize, many: usize| if many == 0 { at } else { at + 1 };
    _ = writeln!(
        out,
        "@@ -{},{olds} +{},{news} @@",
        line(old, olds),
        line(new, news)
    );
    for step in body {
        let (sign, text) = match step {
            Step::Keep => (' ', before.get(old)),
            Step::Remove => ('-', before.get(old)),
            Step::Add => ('+', after.get(new)),
        };
        _ = writeln!(out, "{sign}{}", text.copied().unwrap_or_default());
        old += usize::from(*step != Step::Add);
        new += usize::from(*step != Step::Remove);
    }
}

/// Returns the smallest set of removed and added lines.
fn steps(before: &[&str], after: &[&str]) -> Vec<Step> {
    let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (old, new) = (&before[same..], &after[same..]);
    let mut steps = vec![Step::Keep; same];
    if old.len().saturating_mul(new.len()) > COMPARED {
        steps.extend(vec![Step::Remove; old.len()]);
        steps.extend(vec![Step::Add; new.len()]);
        return steps;
    }
    // The length of the longest common subsequence of the remaining lines, for each pair of positions.
    let width = new.len() + 1;
    let mut longest = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i * width + j] = match old[i] == new[j] {
                true => longest[(i + 1) * width + j + 1] + 1,
                false => longest[(i + 1) * width + j].max(longest[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        let step = if i < old.len() && j < new.len() && old[i] == new[j] {
            Step::Keep
        } else if j == new.len()
            || (i < old.len() && longest[(i + 1) * width + j] >= longest[i * width + j + 1])
        {
            Step::Remove
        } else {
            Step::Add
        };
        i += usize::from(step != Step::Add);
        j += usize::from(step != Step::Remove);
        steps.push(step);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(before: Option<&str>, after: Option<&str>) -> String {
        of_file(&Change {
            path: "f".into(),
            before: before.map(Into::into),
            after: after.map(Into::into),
        })
    }

    #[test]
    fn an_inserted_line_is_shown_with_its_surroundings() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        assert_eq!(
            diff(Some(before), Some(&before.replace("5\n", "5\nnew\n"))),
            "--- a/f\n+++ b/f\n@@ -3,6 +3,7 @@\n 3\n 4\n 5\n+new\n 6\n 7\n 8\n"
        );
    }

    #[test]
    fn far_changes_are_two_hunks() {
        let before: String = (0..30).map(|n| format!("{n}\n")).collect();
        let after = before.replace("2\n3\n", "2\n").replace("25\n", "25\nnew\n");
        let shown = diff(Some(&before), Some(&after));
        assert_eq!(shown.matches("@@ ").count(), 4 / 2, "{shown}");
        assert!(shown.contains("-3\n") && shown.contains("+new\n"));
    }

    #[test]
    fn files_come_and_go() {
        assert_eq!(
            diff(None, Some("a\n")),
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n"
        );
        assert_eq!(
            diff(Some("a\n"), None),
            "--- a/f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n"
        );
    }
}
