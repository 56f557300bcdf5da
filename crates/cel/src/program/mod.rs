//! Programs: expressions that are ready to be evaluated many times.
//!
//! | file | contents |
//! |---|---|
//! | `plan` | the tree of a checked expression as [`Node`]s: names resolved, constants folded, patterns compiled |
//! | `attribute` | names with selections and indexes after them |
//! | `composition` | the variables of an admission policy, evaluated when they are first used |
//! | `message` | objects and operations of patches |
//! | `constants` | sets of constants |
//! | `eval` | evaluation of nodes |
//! | `fold` | evaluation of comprehensions |

mod attribute;
mod composition;
mod constants;
mod eval;
mod fold;
pub(crate) mod message;
mod plan;

use std::sync::Arc;

use serde_json::Value as Json;

use crate::checker::Checked;
use crate::cost::runtime::{CallCost, Meter};
use crate::cost::{self, CostEstimate};
use crate::functions::Function;
use crate::functions::regex::Search;
use crate::limits::PER_CALL_LIMIT;
use crate::regex::Regex;
use crate::schema::Schema;
use crate::value::{EvalResult, Value, json};

pub use composition::{Composition, NamedProgram};
pub use message::Message;

use attribute::Attribute;
use constants::ConstantSet;

/// An expression that is ready to be evaluated.
///
/// ```
/// use kubewright_cel::{Activation, Env, Type, Value};
///
/// let env = Env::new().variable("x", Type::Int);
/// let program = env.compile("x % 2 == 0")?.program()?;
/// for (x, even) in [(1, false), (2, true), (3, false)] {
///     let activation = Activation::new().value(Value::Int(x));
///     let evaluation = program.evaluate(&activation);
///     assert!(matches!(evaluation.result, Ok(Value::Bool(result)) if result == even));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Program {
    root: Node,
    /// The number of variables that comprehensions need.
    slots: usize,
    /// A bit for each variable of the environment that the expression uses.
    used: u64,
}

/// The values of the variables of an [`Env`](crate::Env), in the order of their declaration.
///
/// ```
/// use kubewright_cel::{Activation, Env, Type, Value};
///
/// let env = Env::new().variable("x", Type::Int).variable("y", Type::Int);
/// let program = env.compile("x + y")?.program()?;
/// let activation = Activation::new().value(Value::Int(1)).value(Value::Int(2));
/// assert!(matches!(program.evaluate(&activation).result, Ok(Value::Int(3))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Activation<'a> {
    values: Vec<Option<EvalResult<'a>>>,
}

/// The result of an evaluation and its cost.
///
/// ```
/// use kubewright_cel::{Activation, Env, EvalError, Type, Value};
///
/// let program = Env::new().variable("x", Type::Int).compile("x + x")?.program()?;
/// let activation = Activation::new().value(Value::Int(2));
/// let evaluation = program.evaluate(&activation);
/// assert!(matches!(evaluation.result, Ok(Value::Int(4))));
///
/// let stopped = program.evaluate_within(&activation, evaluation.cost - 1);
/// assert!(matches!(stopped.result, Err(EvalError::CostLimitExceeded)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Evaluation<'a> {
    /// The value, or the error.
    pub result: EvalResult<'a>,
    /// The cost up to the end of the evaluation.
    pub cost: u64,
}

#[derive(Debug)]
enum Node {
    Constant(Value<'static>),
    Attribute(Attribute),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    Equal {
        args: Box<[Node; 2]>,
        negated: bool,
        cost: CallCost,
    },
    Call(Box<Call>),
    /// `value in [constants]`
    InConstants(Box<Node>, ConstantSet),
    /// A search with a constant pattern.
    Search {
        search: Search,
        regex: Regex,
        args: Vec<Node>,
        cost: CallCost,
    },
    NotStrictlyFalse(Box<Node>),
    /// `a.or(b)`, or `a.orValue(b)` if `value`.
    OptionalOr {
        args: Box<[Node; 2]>,
        value: bool,
    },
    List {
        elements: Vec<Node>,
        optional: Vec<bool>,
    },
    Map(Vec<MapEntry>),
    Message {
        of: Arc<str>,
        fields: Vec<FieldInit>,
    },
    Fold(Box<Fold>),
    /// Adds to the accumulator of a fold, in place.
    Append {
        slot: usize,
        element: Box<Node>,
        list_cost: u64,
    },
    /// Adds an entry, or the entries of a map, to the accumulator of a fold, in place.
    Insert {
        slot: usize,
        args: Vec<Node>,
    },
}

#[derive(Debug)]
struct Call {
    function: Arc<Function>,
    overloads: Vec<usize>,
    args: Vec<Node>,
    cost: CallCost,
    /// `true` if the first argument that is an error ends the call, without cost.
    stops_early: bool,
}

#[derive(Debug)]
struct MapEntry {
    key: Node,
    value: Node,
    optional: bool,
}

#[derive(Debug)]
struct FieldInit {
    name: Arc<str>,
    value: Node,
    optional: bool,
}

#[derive(Debug)]
struct Fold {
    range: Node,
    iter_slot: usize,
    iter_slot2: Option<usize>,
    accu_slot: usize,
    init: Node,
    condition: Node,
    step: Node,
    result: Node,
}

impl Checked {
    /// Estimates the minimum and maximum cost of the expression from the declared sizes.
    pub fn estimate_cost(&self) -> CostEstimate {
        cost::estimate(self)
    }

    /// Plans the expression for evaluation. Constants that cannot be computed, such as `int("x")`, are an error.
    ///
    /// # Errors
    ///
    /// Returns a message if a constant cannot be computed.
    pub fn program(&self) -> Result<Program, String> {
        plan::plan(self)
    }
}

impl Program {
    /// Evaluates with the cost limit that every expression has in Kubernetes.
    pub fn evaluate<'a>(&'a self, activation: &'a Activation<'a>) -> Evaluation<'a> {
        self.evaluate_within(activation, PER_CALL_LIMIT)
    }

    /// Reports whether the expression uses a variable of the environment, by its number.
    pub fn uses(&self, variable: usize) -> bool {
        u32::try_from(variable).is_ok_and(|at| self.used.checked_shr(at).unwrap_or(1) & 1 == 1)
    }

    /// Evaluates until the cost exceeds `limit`.
    pub fn evaluate_within<'a>(
        &'a self,
        activation: &'a Activation<'a>,
        limit: u64,
    ) -> Evaluation<'a> {
        let mut machine = eval::Machine::new(activation, None, self.slots, Meter::new(limit));
        let result = machine.run(&self.root);
        Evaluation {
            result,
            cost: machine.cost(),
        }
    }

    /// Evaluates an expression that may use `variables`, with the cost limit that every expression has in Kubernetes. The cost of
    /// variables that it uses first is not part of its own; [`Composition::take_cost`] returns it.
    pub fn evaluate_composed<'a>(
        &'a self,
        activation: &Activation<'a>,
        composition: &Composition<'a>,
    ) -> Evaluation<'a> {
        let meter = Meter::new(PER_CALL_LIMIT);
        let mut machine = eval::Machine::new(activation, Some(composition), self.slots, meter);
        let result = machine.run(&self.root);
        Evaluation {
            result,
            cost: machine.cost(),
        }
    }
}

impl<'a> Activation<'a> {
    /// Creates an activation without values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a variable: JSON, interpreted by a schema if there is one.
    #[must_use]
    pub fn json(mut self, json: &'a Json, schema: Option<&'a Schema>) -> Self {
        self.values.push(Some(json::from_json(json, schema)));
        self
    }

    /// Adds a variable that is an optional: JSON interpreted by a schema, or nothing.
    #[must_use]
    pub fn optional_json(mut self, json: Option<&'a Json>, schema: Option<&'a Schema>) -> Self {
        self.values.push(Some(match json {
            None => Ok(Value::none()),
            Some(json) => json::from_json(json, schema).map(Value::some),
        }));
        self
    }

    /// Adds a variable with a value.
    #[must_use]
    pub fn value(mut self, value: Value<'a>) -> Self {
        self.values.push(Some(Ok(value)));
        self
    }

    /// Adds a variable without a value, whose use is an error.
    #[must_use]
    pub fn absent(mut self) -> Self {
        self.values.push(None);
        self
    }
}
