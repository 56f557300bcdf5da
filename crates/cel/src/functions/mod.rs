//! Functions: their signatures for the checker and their implementations for the interpreter.
//!
//! | file | functions |
//! |---|---|
//! | `operators` | arithmetic, comparison, `in`, indexing |
//! | `conversion` | `int()`, `string()`, `type()` and so on, `size` |
//! | `time` | `getHours` and its kin |
//! | `strings`, `format` | the string library, `format` |
//! | `lists`, `sets` | the list libraries and sets |
//! | `regex` | `matches`, `find`, `findAll` |
//! | `optional` | `optional.of`, `value`, `or` |
//! | `authorizer` | authorization checks of admission expressions |
//! | `json_patch` | `jsonpatch.escapeKey`, which only mutations have |
//! | `url`, `quantity`, `net` with `address`, `formats`, `semver` | the Kubernetes types |
//!
//! Each file has a `declare` that adds to a [`Registry`].

pub(crate) mod address;
pub(crate) mod authorizer;
pub(crate) mod conversion;
pub(crate) mod format;
pub(crate) mod formats;
pub(crate) mod json_patch;
pub(crate) mod lists;
pub(crate) mod net;
pub(crate) mod operators;
pub(crate) mod optional;
pub(crate) mod quantity;
pub(crate) mod regex;
pub(crate) mod semver;
pub(crate) mod sets;
pub(crate) mod signature;
pub(crate) mod strings;
pub(crate) mod time;
pub(crate) mod url;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::types::Type;
use crate::value::{EvalError, EvalResult, Value};

/// The implementation of a function. No argument is an error.
pub(crate) type Implementation = for<'a> fn(&[Value<'a>]) -> EvalResult<'a>;

/// All functions by name.
#[derive(Debug, Default, Clone)]
pub(crate) struct Registry {
    functions: HashMap<&'static str, Arc<Function>>,
}

/// A function and the signatures it can be called with.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) overloads: Vec<Overload>,
    /// One implementation for all overloads, which examines its arguments.
    pub(crate) shared: Option<Implementation>,
}

/// A signature.
#[derive(Debug, Clone)]
pub(crate) struct Overload {
    pub(crate) id: Cow<'static, str>,
    pub(crate) member: bool,
    pub(crate) params: Vec<Type>,
    pub(crate) result: Type,
    /// The type variables in `params` and `result`.
    pub(crate) type_params: Vec<Arc<str>>,
    pub(crate) implementation: Option<Implementation>,
    /// `true` if arguments are checked against `params` before a call.
    pub(crate) guarded: bool,
}

/// The functions of Kubernetes' environment.
pub(crate) fn kubernetes() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let mut registry = Registry::default();
        for declare in [
            operators::declare,
            conversion::declare,
            time::declare,
            url::declare,
            regex::declare,
            lists::declare,
            optional::declare,
            quantity::declare,
            strings::declare,
            sets::declare,
            net::declare,
            formats::declare,
            semver::declare,
            authorizer::declare,
        ] {
            declare(&mut registry);
        }
        registry
    })
}

/// The functions for JSON patches, which only mutations have.
pub(crate) fn json_patch() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let mut registry = Registry::default();
        json_patch::declare(&mut registry);
        registry
    })
}

impl Registry {
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Function>> {
        self.functions.get(name)
    }

    /// A function whose overloads share one implementation.
    pub(crate) fn shared(&mut self, name: &'static str, implementation: Implementation) {
        self.function(name).shared = Some(implementation);
    }

    /// An overload called as `name(params)`. `params` and `result` are read by [`signature::types`].
    pub(crate) fn global(
        &mut self,
        name: &'static str,
        id: impl Into<Cow<'static, str>>,
        params: &str,
        result: &str,
        implementation: impl Into<Option<Implementation>>,
    ) {
        self.add(
            name,
            id.into(),
            false,
            params,
            result,
            implementation.into(),
        );
    }

    /// An overload called as `receiver.name(params)`, the receiver being the first of `params`.
    pub(crate) fn member(
        &mut self,
        name: &'static str,
        id: impl Into<Cow<'static, str>>,
        params: &str,
        result: &str,
        implementation: impl Into<Option<Implementation>>,
    ) {
        self.add(name, id.into(), true, params, result, implementation.into());
    }

    /// Lets a function be called with any arguments.
    pub(crate) fn unguarded(&mut self, name: &'static str) {
        for overload in &mut self.function(name).overloads {
            overload.guarded = false;
        }
    }

    fn add(
        &mut self,
        name: &'static str,
        id: Cow<'static, str>,
        member: bool,
        params: &str,
        result: &str,
        implementation: Option<Implementation>,
    ) {
        let params = signature::types(params);
        let result = signature::types(result).into_iter().next();
        let result = result.unwrap_or(Type::Dyn);
        let mut type_params = Vec::new();
        for of in params.iter().chain([&result]) {
            signature::variables(of, &mut type_params);
        }
        self.function(name).overloads.push(Overload {
            id,
            member,
            params,
            result,
            type_params,
            implementation,
            guarded: true,
        });
    }

    fn function(&mut self, name: &'static str) -> &mut Function {
        let function = self.functions.entry(name).or_insert_with(|| {
            Arc::new(Function {
                name,
                overloads: Vec::new(),
                shared: None,
            })
        });
        Arc::make_mut(function)
    }
}

impl Overload {
    /// Reports whether the overload can be called with these arguments.
    pub(crate) fn takes(&self, args: &[Value<'_>]) -> bool {
        !self.guarded
            || self.params.len() == args.len()
                && self
                    .params
                    .iter()
                    .zip(args)
                    .all(|(of, arg)| arg.is_assignable_to(of))
    }
}

impl Function {
    /// Calls the first of `overloads` that takes the arguments.
    pub(crate) fn call<'a>(&self, overloads: &[usize], args: &[Value<'a>]) -> EvalResult<'a> {
        if let Some(shared) = self.shared {
            return shared(args);
        }
        for overload in overloads.iter().filter_map(|at| self.overloads.get(*at)) {
            if overload.takes(args)
                && let Some(implementation) = overload.implementation
            {
                return implementation(args);
            }
        }
        Err(self.refuse(args))
    }

    /// Returns the error of a call that no overload accepts.
    pub(crate) fn refuse(&self, args: &[Value<'_>]) -> EvalError {
        let types: Vec<&str> = args.iter().map(Value::type_name).collect();
        EvalError::new(format!(
            "no such overload: {}({})",
            self.name,
            types.join(", ")
        ))
    }
}

/// The error of an argument that is not of its declared type.
pub(crate) fn no_such_overload<'a>() -> EvalResult<'a> {
    Err(EvalError::NO_SUCH_OVERLOAD)
}
