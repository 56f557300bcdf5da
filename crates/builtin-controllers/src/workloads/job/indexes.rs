//! [`Indexes`]: sets of completion indexes as Jobs write them, such as `0-2,5`.

use std::fmt;

/// A set of indexes as ordered intervals that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Indexes(Vec<(usize, usize)>);

impl Indexes {
    /// Parses a text. Items that are not numbers, or not below `completions`, are skipped.
    pub(super) fn parse(text: &str, completions: usize) -> Self {
        let mut intervals: Vec<(usize, usize)> = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) else {
                continue;
            };
            if first >= completions {
                break;
            }
            let last = last.min(completions - 1);
            match intervals.last_mut() {
                Some(before) if before.1 + 1 == first => before.1 = last,
                _ => intervals.push((first, last)),
            }
        }
        Self(intervals)
    }

    /// Returns the set with more indexes.
    pub(super) fn with(&self, indexes: impl IntoIterator<Item = usize>) -> Self {
        self.merge(&Self(indexes.into_iter().map(|i| (i, i)).collect()))
    }

    /// Returns the union of two sets.
    pub(super) fn merge(&self, other: &Self) -> Self {
        let mut all: Vec<(usize, usize)> = self.0.iter().chain(&other.0).copied().collect();
        all.sort_unstable();
        let mut merged: Vec<(usize, usize)> = Vec::with_capacity(all.len());
        for (first, last) in all {
            match merged.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last)
                }
                _ => merged.push((first, last)),
            }
        }
        Self(merged)
    }

    /// Returns the number of indexes.
    pub(super) fn len(&self) -> usize {
        let lengths = self.0.iter().map(|(first, last)| last + 1 - first);
        lengths.sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, index: usize) -> bool {
        let position = self.0.partition_point(|(_, last)| *last < index);
        self.0
            .get(position)
            .is_some_and(|(first, _)| *first <= index)
    }

    /// Returns the number of indexes that are in both sets.
    pub(super) fn overlap(&self, other: &Self) -> usize {
        let mut others = other.0.iter().peekable();
        let mut count = 0;
        for (first, last) in &self.0 {
            while let Some((start, end)) = others.peek() {
                count += (*last.min(end) + 1).saturating_sub(*first.max(start));
                if end > last {
                    break;
                }
                others.next();
            }
        }
        count
    }

    /// Returns the lowest indexes below `completions` that are not in the set.
    pub(super) fn gaps(&self, count: usize, completions: usize) -> Vec<usize> {
        let mut next = 0;
        let mut gaps = Vec::with_capacity(count.min(completions));
        let end = (completions, completions);
        for (first, last) in self.0.iter().chain([&end]) {
            let missing = next..(*first).min(completions);
            gaps.extend(missing.take(count - gaps.len()));
            next = next.max(last + 1);
        }
        gaps
    }
}

impl fmt::Display for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (first, last)) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma}{first}")?;
            match last - first {
                0 => {}
                1 => write!(f, ",{last}")?,
                _ => write!(f, "-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(indexes: &[usize]) -> Indexes {
        Indexes::default().with(indexes.iter().copied())
    }

    #[test]
    fn indexes_are_written_as_ranges_and_read_again() {
        for (indexes, text) in [
            (vec![], ""),
            (vec![3], "3"),
            (vec![0, 1], "0,1"),
            (vec![0, 1, 2, 5], "0-2,5"),
            (vec![1, 3, 4, 6, 7, 8], "1,3,4,6-8"),
        ] {
            let indexes = set(&indexes);
            assert_eq!(indexes.to_string(), text);
            assert_eq!(Indexes::parse(text, 100), indexes);
        }
    }

    #[test]
    fn what_is_damaged_or_too_high_is_skipped() {
        assert_eq!(Indexes::parse("0-5,x,7,9-12,20", 10).to_string(), "0-5,7,9");
        assert_eq!(Indexes::parse("4", 0), Indexes::default());
    }

    #[test]
    fn unions_gaps_and_overlaps_are_those_of_sets() {
        let some = set(&[0, 1, 5]);
        assert_eq!(some.with([2, 4, 1]).to_string(), "0-2,4,5");
        assert_eq!((some.len(), some.has(1), some.has(2)), (3, true, false));
        assert_eq!(some.gaps(2, 10), [2, 3]);
        assert_eq!(some.gaps(9, 7), [2, 3, 4, 6]);
        assert_eq!(set(&[0, 1, 2, 9]).overlap(&set(&[1, 2, 3, 8, 9])), 3);
        assert_eq!(set(&[0, 1, 2, 3]).overlap(&set(&[0, 2])), 2);
    }
}
