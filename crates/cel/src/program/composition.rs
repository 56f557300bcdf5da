//! The variables of an admission policy, evaluated when they are first used.

use std::cell::{Cell, RefCell};

use kubewright_machinery::go;

use crate::compile_error::CompileError;
use crate::cost::runtime::Meter;
use crate::limits::PER_CALL_LIMIT;
use crate::value::{EvalError, EvalResult};

use super::Program;
use super::eval::Machine;

/// A variable that other expressions can use: `variables.name`.
#[derive(Debug)]
pub struct NamedProgram {
    /// The name.
    pub name: String,
    /// The program, or the reason why there is none.
    pub program: Result<Program, String>,
}

impl NamedProgram {
    /// Names a program, or the reason why there is none.
    pub fn new(name: &str, compiled: Result<Program, CompileError>) -> Self {
        Self {
            name: name.to_owned(),
            program: compiled.map_err(|error| error.to_string()),
        }
    }
}

/// The values of `variables` in evaluations over the same [`Activation`](crate::Activation). A variable is evaluated when an expression
/// first uses it; its value or error is kept.
///
/// ```
/// use kubewright_cel::{AdmissionEnv, AdmissionInput, Composition, NamedProgram, Type, Value};
/// use serde_json::json;
///
/// let mut env = AdmissionEnv::new();
/// let total = env.add_variable("total", "object.a + object.b");
/// let variables = [NamedProgram::new("total", total)];
/// let program = env.compile("variables.total > 2", &[Type::Bool])?;
///
/// let object = json!({"a": 1, "b": 2});
/// let activation = AdmissionInput { object: Some(&object), ..AdmissionInput::default() }.activation();
/// let composition = Composition::new(&variables);
/// let evaluation = program.evaluate_composed(&activation, &composition);
/// assert!(matches!(evaluation.result, Ok(Value::Bool(true))));
/// assert_eq!((evaluation.cost, composition.take_cost()), (3, 5));
///
/// program.evaluate_composed(&activation, &composition);
/// assert_eq!(composition.take_cost(), 0, "the variable has a value now");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Composition<'a> {
    variables: &'a [NamedProgram],
    values: RefCell<Vec<State<'a>>>,
    cost: Cell<u64>,
}

#[derive(Debug, Clone)]
enum State<'a> {
    Unused,
    /// Evaluated at this moment.
    Running,
    Known(EvalResult<'a>),
}

impl<'a> Composition<'a> {
    /// Returns variables without values.
    pub fn new(variables: &'a [NamedProgram]) -> Self {
        Self {
            variables,
            values: RefCell::new(vec![State::Unused; variables.len()]),
            cost: Cell::new(0),
        }
    }

    /// Returns the cost of the variables that were evaluated since the last call.
    pub fn take_cost(&self) -> u64 {
        self.cost.take()
    }

    fn state(&self, at: usize) -> State<'a> {
        let values = self.values.borrow();
        values.get(at).cloned().unwrap_or(State::Unused)
    }

    fn set(&self, at: usize, state: State<'a>) {
        if let Some(place) = self.values.borrow_mut().get_mut(at) {
            *place = state;
        }
    }
}

impl<'a> Machine<'_, 'a> {
    /// Returns the value of a variable of the policy; `Ok(None)` if there is no such variable.
    pub(super) fn composed(&mut self, name: &str) -> Result<Option<crate::Value<'a>>, EvalError> {
        let Some(composition) = self.composition else {
            return Ok(None);
        };
        let Some(at) = composition.variables.iter().rposition(|v| v.name == name) else {
            return Ok(None);
        };
        match composition.state(at) {
            State::Known(value) => return value.map(Some),
            State::Running => {
                let name = go::quote(name);
                return Err(EvalError::new(format!("variable {name} depends on itself")));
            }
            State::Unused => {}
        }
        let Some(variable) = composition.variables.get(at) else {
            return Ok(None);
        };
        let value = match &variable.program {
            Ok(program) => {
                composition.set(at, State::Running);
                let meter = Meter::new(PER_CALL_LIMIT);
                let mut machine =
                    Machine::new(self.activation, self.composition, program.slots, meter);
                let value = machine.run(&program.root);
                if matches!(value, Err(EvalError::Undecided)) {
                    composition.set(at, State::Unused);
                    return Err(EvalError::Undecided);
                }
                let spent = composition.cost.get().saturating_add(machine.cost());
                composition.cost.set(spent);
                value.map_err(|error| failed(name, "evaluate", &error))
            }
            Err(error) => Err(failed(name, "compile", error)),
        };
        composition.set(at, State::Known(value.clone()));
        value.map(Some)
    }
}

fn failed(name: &str, what: &str, error: &dyn std::fmt::Display) -> EvalError {
    let name = go::quote(name);
    EvalError::new(format!(
        "composited variable {name} fails to {what}: {error}"
    ))
}
