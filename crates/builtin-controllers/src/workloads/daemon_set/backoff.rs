//! [`Backoffs`]: the delays before failed pods are deleted, so that a node that refuses a pod is not asked forever.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

/// The delay after the first failed pod.
const FIRST: SignedDuration = SignedDuration::from_secs(1);

/// The longest delay.
const LONGEST: SignedDuration = SignedDuration::from_mins(15);

/// The delays of nodes.
#[derive(Default)]
pub(super) struct Backoffs(Mutex<HashMap<String, (SignedDuration, Timestamp)>>);

impl Backoffs {
    /// Begins a longer delay and returns `None`, unless there is still one: then returns its length.
    pub(super) fn pass(&self, key: &str, now: Timestamp) -> Option<SignedDuration> {
        let mut delays = self.0.lock();
        delays.retain(|_, (_, since)| now.duration_since(*since) <= LONGEST * 2);
        let delay = match delays.get(key) {
            Some((delay, since)) if now.duration_since(*since) < *delay => return Some(*delay),
            Some((delay, _)) => (*delay * 2).min(LONGEST),
            None => FIRST,
        };
        delays.insert(key.to_owned(), (delay, now));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_while_pods_keep_failing() {
        let backoffs = Backoffs::default();
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let left = |second: i64| backoffs.pass("n", at(second)).map(|delay| delay.as_secs());
        assert_eq!(left(0), None);
        assert_eq!(left(0), Some(1));
        assert_eq!(left(1), None);
        assert_eq!(left(2), Some(2));
        assert_eq!(left(3), None);
        assert_eq!(left(4), Some(4));
        assert_eq!(left(4000), None);
        assert_eq!(left(4000), Some(1));
    }
}
