//! [`Ring`]: numbered entries, of which the oldest are dropped when a limit is exceeded.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// The default number of items of a page.
const PAGE: usize = 100;

/// The maximum number of items of a page.
const MAX_PAGE: usize = 1000;

/// The size and the limits of a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// The number of the oldest entry; 0 if there is none.
    pub first: u64,
    /// The number of the newest entry; 0 if there is none.
    pub last: u64,
    /// The number of dropped entries.
    pub forgotten: u64,
    /// The memory usage of the entries in bytes.
    pub bytes: usize,
}

/// The requested part of a list.
///
/// ```
/// use kubewright_ledger::PageQuery;
///
/// let next = PageQuery { after: Some(40), ..PageQuery::default() };
/// assert_eq!(next.limit(), 100);
/// assert_eq!(PageQuery { limit: Some(5000), ..next }.limit(), 1000);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageQuery {
    /// Only entries with a greater number, oldest first. `None`: the newest entries.
    pub after: Option<u64>,
    /// The maximum number of items; at most 1000 (default: 100).
    pub limit: Option<usize>,
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page<T> {
    /// The number of the oldest available entry.
    pub first: u64,
    /// The number of the newest entry.
    pub last: u64,
    /// The number to continue after.
    pub next: u64,
    /// The number of entries after the requested number that have been dropped.
    pub missed: u64,
    /// The items in ascending order.
    pub items: Vec<T>,
}

/// Numbered entries, limited in number and size.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    max_entries: usize,
    max_bytes: usize,
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    entries: VecDeque<(Arc<T>, u32)>,
    /// The number of the newest entry.
    last: u64,
    bytes: usize,
}

impl PageQuery {
    /// Returns the maximum number of items.
    pub fn limit(&self) -> usize {
        self.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE)
    }
}

impl<T> Page<T> {
    /// Extracts a page from numbered items in ascending order.
    pub fn of<U>(
        bounds: Bounds,
        query: &PageQuery,
        items: impl DoubleEndedIterator<Item = (u64, U)>,
        mut show: impl FnMut(u64, U) -> T,
    ) -> Self {
        let Bounds { first, last, .. } = bounds;
        let limit = query.limit();
        let mut chosen: Vec<(u64, U)> = match query.after {
            Some(after) => items
                .filter(|(number, _)| *number > after)
                .take(limit + 1)
                .collect(),
            None => {
                let mut newest: Vec<_> = items.rev().take(limit).collect();
                newest.reverse();
                newest
            }
        };
        let more = chosen.len() > limit;
        chosen.truncate(limit);
        let next = match chosen.last() {
            Some((number, _)) if more => *number,
            _ => last.max(query.after.unwrap_or_default()),
        };
        let missed = match query.after {
            Some(after) if first > 0 => (first - 1).saturating_sub(after),
            _ => 0,
        };
        let items = chosen.into_iter().map(|(number, item)| show(number, item));
        Self {
            first,
            last,
            next,
            missed,
            items: items.collect(),
        }
    }
}

impl<T> Ring<T> {
    pub(crate) fn new(max_entries: usize, max_bytes: usize) -> Self {
        let state = State {
            entries: VecDeque::new(),
            last: 0,
            bytes: 0,
        };
        Self {
            max_entries,
            max_bytes,
            state: Mutex::new(state),
        }
    }

    /// Adds an entry with a size, and returns its number.
    pub(crate) fn push(&self, entry: T, size: usize) -> u64 {
        let entry = Arc::new(entry);
        // Dropped after the lock is released. A full ring drops one entry for most new ones.
        let (mut dropped, mut more) = (None, Vec::new());
        let mut state = self.state.lock();
        state.last += 1;
        state.bytes += size;
        let counted = u32::try_from(size).unwrap_or(u32::MAX);
        state.entries.push_back((entry, counted));
        while state.entries.len() > self.max_entries
            || (state.bytes > self.max_bytes && state.entries.len() > 1)
        {
            let Some((oldest, size)) = state.entries.pop_front() else {
                break;
            };
            state.bytes = state.bytes.saturating_sub(size as usize);
            match dropped {
                None => dropped = Some(oldest),
                Some(_) => more.push(oldest),
            }
        }
        let last = state.last;
        drop(state);
        last
    }

    /// Returns all entries with their numbers, oldest first.
    pub(crate) fn all(&self) -> (Bounds, Vec<(u64, Arc<T>)>) {
        let state = self.state.lock();
        let bounds = state.bounds();
        let numbers = bounds.first..;
        let entries = state.entries.iter().map(|(entry, _)| entry.clone());
        (bounds, numbers.zip(entries).collect())
    }

    /// Returns the size and the limits.
    pub(crate) fn bounds(&self) -> Bounds {
        self.state.lock().bounds()
    }
}

impl<T> State<T> {
    fn bounds(&self) -> Bounds {
        let held = self.entries.len() as u64;
        Bounds {
            first: match held {
                0 => 0,
                held => self.last + 1 - held,
            },
            last: self.last,
            forgotten: self.last - held,
            bytes: self.bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(entries: u64) -> Ring<u64> {
        let ring = Ring::new(10, 1000);
        for entry in 1..=entries {
            ring.push(entry, 1);
        }
        ring
    }

    fn page(ring: &Ring<u64>, after: Option<u64>, limit: usize) -> Page<u64> {
        let (bounds, all) = ring.all();
        let limit = Some(limit);
        Page::of(
            bounds,
            &PageQuery { after, limit },
            all.into_iter(),
            |_, entry| *entry,
        )
    }

    #[test]
    fn readers_page_through_and_see_what_they_missed() {
        let ring = ring(25);
        let first = page(&ring, Some(3), 4);
        assert_eq!((first.first, first.last, first.missed), (16, 25, 12));
        assert_eq!((first.items, first.next), (vec![16, 17, 18, 19], 19));
        let last = page(&ring, Some(19), 10);
        assert_eq!((last.items.len(), last.next, last.missed), (6, 25, 0));
        assert_eq!(page(&ring, Some(25), 10).items, [0; 0]);
        assert_eq!(page(&ring, None, 2).items, [24, 25]);
    }

    #[test]
    fn large_entries_evict_others() {
        let ring = Ring::new(10, 1000);
        for entry in 0..5 {
            ring.push(entry, 400);
        }
        let bounds = ring.bounds();
        assert_eq!((bounds.first, bounds.last, bounds.forgotten), (4, 5, 3));
        assert_eq!(bounds.bytes, 800);
        ring.push(9, 5000);
        assert_eq!(ring.bounds().first, 6);
    }

    #[test]
    fn an_empty_ring_has_no_numbers() {
        let ring = ring(0);
        assert_eq!(ring.bounds(), Bounds::default());
        assert_eq!(page(&ring, Some(7), 3).missed, 0);
    }
}
