//! [`Tolerance`]: the time for which a pod tolerates taints.

use jiff::SignedDuration;
use serde_json::Value;

use crate::workloads::objects::Taint;

/// The time for which a pod tolerates taints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tolerance {
    Forever,
    For(SignedDuration),
    /// Some taint is not tolerated at all.
    Not,
}

impl Tolerance {
    /// Returns the time for which a pod with these tolerations stays on a node with these taints: the shortest of all
    /// tolerations that are for one of the taints.
    pub(super) fn of(tolerations: &[Value], taints: &[Taint]) -> Self {
        let mut seconds: Option<i64> = None;
        for taint in taints {
            // Of several tolerations for a taint, the first one is used.
            let Some(used) = tolerations.iter().find(|t| taint.is_tolerated_by(t)) else {
                return Self::Not;
            };
            if let Some(limit) = used["tolerationSeconds"].as_i64() {
                seconds = Some(seconds.map_or(limit, |least| least.min(limit)).max(0));
            }
        }
        match seconds {
            Some(seconds) => Self::For(SignedDuration::from_secs(seconds)),
            None => Self::Forever,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn taint(key: &str) -> Taint {
        Taint {
            key: key.to_owned(),
            effect: "NoExecute".to_owned(),
            ..Taint::default()
        }
    }

    #[test]
    fn the_shortest_toleration_counts() {
        let tolerates = |key: &str, seconds: Value| json!({"key": key, "operator": "Exists", "tolerationSeconds": seconds});
        let taints = [taint("a"), taint("b")];
        let of = |tolerations: &[Value]| Tolerance::of(tolerations, &taints);
        let seconds = |seconds| Tolerance::For(SignedDuration::from_secs(seconds));
        assert_eq!(of(&[tolerates("a", json!(5))]), Tolerance::Not);
        assert_eq!(
            of(&[tolerates("a", json!(50)), tolerates("b", json!(20))]),
            seconds(20)
        );
        assert_eq!(
            of(&[tolerates("a", json!(null)), tolerates("b", json!(20))]),
            seconds(20)
        );
        assert_eq!(of(&[json!({"operator": "Exists"})]), Tolerance::Forever);
        assert_eq!(
            of(&[tolerates("a", json!(-3)), tolerates("b", json!(20))]),
            seconds(0)
        );
    }
}
