//! The limits of a rolling update: how many pods there may be too many, and how many may be unavailable.

use serde_json::Value;

use crate::workloads::objects::Deployment;

/// The direction in which a share of a percentage is rounded.
#[derive(Clone, Copy)]
pub(crate) enum Rounding {
    Up,
    Down,
}

/// Returns the value of a number or a percentage of a total; 0 if it is neither.
pub(crate) fn scaled(value: &Value, total: i32, rounding: Rounding) -> i32 {
    let percent = match value {
        Value::Number(number) => {
            let number = number
                .as_i64()
                .and_then(|number| i32::try_from(number).ok());
            return number.unwrap_or(0);
        }
        Value::String(text) => text
            .strip_suffix('%')
            .and_then(|text| text.parse::<i64>().ok()),
        _ => None,
    };
    let share = percent.unwrap_or(0).saturating_mul(i64::from(total));
    let share = match rounding {
        Rounding::Up => share.div_euclid(100) + i64::from(share.rem_euclid(100) != 0),
        Rounding::Down => share.div_euclid(100),
    };
    i32::try_from(share).unwrap_or(i32::MAX)
}

impl Deployment {
    /// Returns the number of pods that there may be above the desired number.
    pub(super) fn max_surge(&self) -> i32 {
        match self.is_rolling() {
            true => self.surge_and_unavailable().0,
            false => 0,
        }
    }

    /// Returns the number of pods that may be unavailable.
    pub(super) fn max_unavailable(&self) -> i32 {
        match self.is_rolling() && self.replicas() != 0 {
            true => self.surge_and_unavailable().1.min(self.replicas()),
            false => 0,
        }
    }

    /// Returns both limits; if both are 0, one pod may be unavailable.
    fn surge_and_unavailable(&self) -> (i32, i32) {
        let limits = &self.spec.strategy.rolling_update;
        let surge = scaled(&limits.max_surge, self.replicas(), Rounding::Up);
        let unavailable = scaled(&limits.max_unavailable, self.replicas(), Rounding::Down);
        match (surge, unavailable) {
            (0, 0) => (0, 1),
            limits => limits,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn limits(replicas: i32, surge: Value, unavailable: Value) -> (i32, i32) {
        let deployment: Deployment = serde_json::from_value(json!({"spec": {
            "replicas": replicas,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}},
        }}))
        .unwrap();
        (deployment.max_surge(), deployment.max_unavailable())
    }

    #[test]
    fn surge_is_rounded_up_and_unavailability_down() {
        assert_eq!(limits(10, json!("25%"), json!("25%")), (3, 2));
        assert_eq!(limits(1, json!("25%"), json!("25%")), (1, 0));
        assert_eq!(limits(4, json!(2), json!(1)), (2, 1));
        assert_eq!(limits(2, json!(0), json!(10)), (0, 2));
    }

    #[test]
    fn without_any_room_one_pod_may_be_unavailable() {
        assert_eq!(limits(10, json!(0), json!(0)), (0, 1));
        assert_eq!(limits(3, json!("0%"), json!("10%")), (0, 1));
        assert_eq!(limits(0, json!(0), json!(0)), (0, 0));
    }
}
