//! Sets of constants, for `value in ["a", "b"]`.

use std::collections::HashSet;

use crate::value::{List, Value};

/// A set of scalars.
#[derive(Debug)]
pub(super) struct ConstantSet {
    texts: HashSet<Box<str>>,
    /// The whole numbers of every type.
    numbers: HashSet<i128>,
    fractions: Vec<f64>,
    bools: [bool; 2],
}

impl ConstantSet {
    /// Creates a set; `None` if there is anything but scalars.
    pub(super) fn new(list: &List<'_>) -> Option<Self> {
        let mut set = Self {
            texts: HashSet::new(),
            numbers: HashSet::new(),
            fractions: Vec::new(),
            bools: [false; 2],
        };
        for item in list.iter() {
            match item.ok()? {
                Value::String(text) => {
                    set.texts.insert((&*text).into());
                }
                Value::Bool(b) => set.bools[usize::from(b)] = true,
                Value::Int(i) => {
                    set.numbers.insert(i128::from(i));
                }
                Value::Uint(u) => {
                    set.numbers.insert(i128::from(u));
                }
                Value::Double(d) => match whole(d) {
                    Some(number) => {
                        set.numbers.insert(number);
                    }
                    None => set.fractions.push(d),
                },
                _ => return None,
            }
        }
        Some(set)
    }

    pub(super) fn contains(&self, value: &Value<'_>) -> bool {
        match value {
            Value::String(text) => self.texts.contains(&**text),
            Value::Bool(b) => self.bools[usize::from(*b)],
            Value::Int(i) => self.numbers.contains(&i128::from(*i)),
            Value::Uint(u) => self.numbers.contains(&i128::from(*u)),
            Value::Double(d) => match whole(*d) {
                Some(number) => self.numbers.contains(&number),
                None => self.fractions.contains(d),
            },
            _ => false,
        }
    }
}

fn whole(number: f64) -> Option<i128> {
    (number.fract() == 0.0 && number.abs() < 1e30).then_some(number as i128)
}
