//! Ranges of sizes and costs. Arithmetic saturates.

/// A range of sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeEstimate {
    /// The minimum.
    pub min: u64,
    /// The maximum.
    pub max: u64,
}

/// A range of costs.
///
/// ```
/// use kubewright_cel::{CostEstimate, DeclType, Env, Extent, Issues, Schema};
/// use serde_json::json;
///
/// let estimate = |max_length: u32| -> Result<CostEstimate, Issues> {
///     let schema = Schema::from_json(&json!({"type": "string", "maxLength": max_length}));
///     let decl = DeclType::of(&schema, Extent::Value).expect("a string has a type");
///     let checked = Env::new().declared("self", "selfType", &decl).compile("self.contains('a')")?;
///     Ok(checked.estimate_cost())
/// };
/// // The longer the text may be, the more the rule may cost.
/// assert!(estimate(10)?.max < estimate(10_000)?.max);
/// # Ok::<(), Issues>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CostEstimate {
    /// The minimum.
    pub min: u64,
    /// The maximum.
    pub max: u64,
}

impl SizeEstimate {
    /// The range of all sizes.
    pub(crate) const UNKNOWN: Self = Self {
        min: 0,
        max: u64::MAX,
    };

    pub(crate) const fn fixed(size: u64) -> Self {
        Self {
            min: size,
            max: size,
        }
    }

    pub(crate) fn add(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_add(other.min),
            max: self.max.saturating_add(other.max),
        }
    }

    pub(crate) fn times(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_mul(other.min),
            max: self.max.saturating_mul(other.max),
        }
    }

    /// The cost of `factor` for each.
    pub(crate) fn cost(self, factor: f64) -> CostEstimate {
        CostEstimate {
            min: by_factor(self.min, factor),
            max: by_factor(self.max, factor),
        }
    }

    /// The cost of doing something for each.
    pub(crate) fn cost_of_each(self, cost: CostEstimate) -> CostEstimate {
        CostEstimate {
            min: self.min.saturating_mul(cost.min),
            max: self.max.saturating_mul(cost.max),
        }
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

impl CostEstimate {
    pub(crate) const fn fixed(cost: u64) -> Self {
        Self {
            min: cost,
            max: cost,
        }
    }

    pub(crate) fn add(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_add(other.min),
            max: self.max.saturating_add(other.max),
        }
    }

    pub(crate) fn times(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_mul(other.min),
            max: self.max.saturating_mul(other.max),
        }
    }

    pub(crate) fn by(self, factor: f64) -> Self {
        Self {
            min: by_factor(self.min, factor),
            max: by_factor(self.max, factor),
        }
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

/// `size × factor`, rounded up.
pub(super) fn by_factor(size: u64, factor: f64) -> u64 {
    // A conversion from float saturates, so the largest stays the largest.
    (size as f64 * factor).ceil() as u64
}
