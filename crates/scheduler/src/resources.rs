//! [`Resources`]: resource quantities of nodes and pods.

use std::collections::BTreeMap;

use kubewright_machinery::quantity::Quantity;

/// Quantities by name, as in objects.
pub(crate) type Amounts = BTreeMap<String, String>;

/// The CPU that a pod without a request is assumed to use in scores, in thousandths.
const ASSUMED_MILLI_CPU: i64 = 100;

/// The memory that a pod without a request is assumed to use in scores, in bytes.
const ASSUMED_MEMORY: i64 = 200 * 1024 * 1024;

/// Amounts of resources.
///
/// ```
/// use kubewright_scheduler::Resources;
///
/// let free = Resources { milli_cpu: 500, memory: 1 << 30, ..Resources::default() };
/// assert_eq!(free.get("cpu"), 500);
/// assert_eq!(free.get("example.com/gpu"), 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resources {
    /// CPU, in thousandths.
    pub milli_cpu: i64,
    /// Memory, in bytes.
    pub memory: i64,
    /// Ephemeral storage, in bytes.
    pub ephemeral_storage: i64,
    /// Other resources, such as huge pages and extended resources, by name.
    pub others: BTreeMap<String, i64>,
}

impl Resources {
    /// Returns the amount of a resource: CPU in thousandths, everything else in units.
    pub fn get(&self, name: &str) -> i64 {
        match name {
            "cpu" => self.milli_cpu,
            "memory" => self.memory,
            "ephemeral-storage" => self.ephemeral_storage,
            other => self.others.get(other).copied().unwrap_or(0),
        }
    }

    /// Parses quantities. Invalid ones count as zero.
    pub(crate) fn parse(amounts: &Amounts) -> Self {
        let mut resources = Self::default();
        for (name, text) in amounts {
            let Ok(quantity) = Quantity::parse(text) else {
                continue;
            };
            match name.as_str() {
                "pods" => {}
                "cpu" => resources.milli_cpu = quantity.milli_value(),
                other => *resources.slot(other) = quantity.value(),
            }
        }
        resources
    }

    /// Adds amounts.
    pub(crate) fn add(&mut self, other: &Self) {
        self.each(other, i64::saturating_add);
    }

    /// Subtracts amounts.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.each(other, i64::saturating_sub);
    }

    /// Raises each amount to at least that of the other.
    pub(crate) fn raise(&mut self, other: &Self) {
        self.each(other, i64::max);
    }

    /// Replaces the amounts that the other contains.
    pub(crate) fn replace(&mut self, other: &Self) {
        self.each(other, |own, other| if other > 0 { other } else { own });
    }

    /// Returns the CPU and memory for scores, where pods without requests have assumed usage.
    pub(crate) fn assumed(&self) -> (i64, i64) {
        let or = |amount, default| if amount == 0 { default } else { amount };
        (
            or(self.milli_cpu, ASSUMED_MILLI_CPU),
            or(self.memory, ASSUMED_MEMORY),
        )
    }

    fn each(&mut self, other: &Self, change: impl Fn(i64, i64) -> i64) {
        self.milli_cpu = change(self.milli_cpu, other.milli_cpu);
        self.memory = change(self.memory, other.memory);
        self.ephemeral_storage = change(self.ephemeral_storage, other.ephemeral_storage);
        for (name, amount) in &other.others {
            let own = self.others.entry(name.clone()).or_default();
            *own = change(*own, *amount);
        }
    }

    fn slot(&mut self, name: &str) -> &mut i64 {
        match name {
            "memory" => &mut self.memory,
            "ephemeral-storage" => &mut self.ephemeral_storage,
            other => self.others.entry(other.to_owned()).or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(list: &[(&str, &str)]) -> Resources {
        let list = list.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Resources::parse(&list.collect())
    }

    #[test]
    fn quantities_are_parsed_in_the_units_of_their_resource() {
        let all = amounts(&[
            ("cpu", "1500m"),
            ("memory", "1Ki"),
            ("example.com/gpu", "2"),
        ]);
        assert_eq!((all.milli_cpu, all.memory), (1500, 1024));
        assert_eq!(all.get("example.com/gpu"), 2);
        assert_eq!(amounts(&[("cpu", "lots")]), Resources::default());
    }

    #[test]
    fn amounts_are_added_and_subtracted_by_name() {
        let mut all = amounts(&[("cpu", "1"), ("example.com/gpu", "2")]);
        all.add(&amounts(&[("cpu", "1"), ("hugepages-2Mi", "4Mi")]));
        all.subtract(&amounts(&[("example.com/gpu", "1")]));
        let expected = [
            ("cpu", "2"),
            ("example.com/gpu", "1"),
            ("hugepages-2Mi", "4Mi"),
        ];
        assert_eq!(all, amounts(&expected));
    }
}
