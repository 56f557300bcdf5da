//! The type checker.
//!
//! Every node gets a type; every call gets the overloads that can take its arguments. Types that an expression leaves
//! open (`[]`) are variables until they are inferred ([`unify`]); those that stay open are `dyn`.
//!
//! | file | contents |
//! |---|---|
//! | `unify` | whether a type can be assigned to another |
//! | `calls` | choosing overloads |
//! | `validators` | checks of literals after the types are known |

mod calls;
mod unify;
mod validators;

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::{Ast, Comprehension, Entry, Expr, ExprId, ExprKind, FieldInit, Literal};
use crate::env::{Env, JSON_PATCH};
use crate::escape::is_reserved;
use crate::functions::Function;
use crate::source::{Issues, Location, Source};
use crate::types::Type;

use unify::Substitution;

/// A checked expression: types, and the meaning of names.
///
/// ```
/// use kubewright_cel::{Env, Type};
///
/// let env = Env::new().variable("x", Type::Int).variable("y", Type::Int);
/// let checked = env.compile("x * 2 > 5")?;
/// assert_eq!(checked.output_type(), &Type::Bool);
/// assert!(checked.uses("x"));
/// assert!(!checked.uses("y"));
/// # Ok::<(), kubewright_cel::Issues>(())
/// ```
#[derive(Debug, Clone)]
pub struct Checked {
    pub(crate) root: Expr,
    pub(crate) env: Env,
    types: HashMap<ExprId, Type>,
    references: HashMap<ExprId, Reference>,
}

/// The meaning of a name or a call.
#[derive(Debug, Clone)]
pub(crate) enum Reference {
    /// A variable of the environment, by number.
    Variable(usize),
    /// A type.
    Type(Type),
    /// A function, and which of its overloads can be meant.
    Function(Arc<Function>, Vec<usize>),
}

/// The largest type that is kept; larger ones are `dyn`. Types double with each level of `{x: x}`.
const MAX_TYPE_SIZE: usize = 4_096;

/// Checks an expression against an environment.
pub(crate) fn check(ast: Ast, source: Source, env: &Env) -> Result<Checked, Issues> {
    let mut root = ast.root;
    let mut checker = Checker {
        env,
        source: &source,
        offsets: &ast.offsets,
        issues: Issues::new(&source),
        types: HashMap::new(),
        references: HashMap::new(),
        substitution: Substitution::default(),
        scopes: Vec::new(),
    };
    checker.check(&mut root);
    if checker.issues.is_empty() {
        let substitution = &checker.substitution;
        for of in checker.types.values_mut() {
            *of = substitution.apply(of, true);
        }
        validators::validate(&mut checker, &root);
    }
    let Checker {
        issues,
        types,
        references,
        ..
    } = checker;
    if !issues.is_empty() {
        return Err(issues);
    }
    Ok(Checked {
        root,
        env: env.clone(),
        types,
        references,
    })
}

impl Checked {
    /// The type of the result.
    pub fn output_type(&self) -> &Type {
        self.type_of(self.root.id)
    }

    /// Reports whether the expression uses a variable of the environment.
    pub fn uses(&self, variable: &str) -> bool {
        let Some((number, _)) = self.env.lookup(variable) else {
            return false;
        };
        self.references
            .values()
            .any(|reference| matches!(reference, Reference::Variable(n) if *n == number))
    }

    pub(crate) fn type_of(&self, id: ExprId) -> &Type {
        self.types.get(&id).unwrap_or(&Type::Dyn)
    }

    pub(crate) fn reference(&self, id: ExprId) -> Option<&Reference> {
        self.references.get(&id)
    }
}

struct Checker<'c> {
    env: &'c Env,
    source: &'c Source,
    offsets: &'c [Option<u32>],
    issues: Issues,
    types: HashMap<ExprId, Type>,
    references: HashMap<ExprId, Reference>,
    substitution: Substitution,
    /// The variables of comprehensions, innermost last.
    scopes: Vec<(String, Type)>,
}

/// The meaning of a name.
enum Declared {
    Local(Type),
    Variable(usize, Type),
    Type(Type),
}

impl Checker<'_> {
    fn check(&mut self, expr: &mut Expr) {
        let id = expr.id;
        match &mut expr.kind {
            ExprKind::Unspecified => {
                self.types.insert(id, Type::Error);
            }
            ExprKind::Literal(literal) => {
                self.types.insert(id, literal_type(literal));
            }
            ExprKind::Ident(name) => {
                let name = std::mem::take(name);
                self.ident(expr, &name);
            }
            ExprKind::Select { .. } => self.select(expr),
            ExprKind::Call { .. } => self.call(expr),
            ExprKind::List { elements, optional } => {
                let of = self.list(elements, optional);
                self.types.insert(id, of);
            }
            ExprKind::Map(entries) => {
                let of = self.map(entries);
                self.types.insert(id, of);
            }
            ExprKind::Struct { type_name, fields } => {
                let name = type_name.clone();
                self.message(id, &name, fields);
            }
            ExprKind::Comprehension(fold) => {
                let of = self.comprehension(fold);
                self.types.insert(id, of);
            }
        }
    }

    fn ident(&mut self, expr: &mut Expr, name: &str) {
        let absolute = name.strip_prefix('.').unwrap_or(name);
        match self.declared(absolute) {
            Some(declared) => self.resolve(expr, absolute, declared),
            None => {
                self.undeclared(expr.id, name);
                expr.kind = ExprKind::Ident(name.to_owned());
            }
        }
    }

    /// Turns a node into a reference to a declaration.
    fn resolve(&mut self, expr: &mut Expr, name: &str, declared: Declared) {
        let of = match declared {
            Declared::Local(of) => of,
            Declared::Variable(number, of) => {
                self.references.insert(expr.id, Reference::Variable(number));
                of
            }
            Declared::Type(of) => {
                self.references.insert(expr.id, Reference::Type(of.clone()));
                Type::Type(Some(Arc::new(of)))
            }
        };
        self.types.insert(expr.id, of);
        expr.kind = ExprKind::Ident(name.to_owned());
    }

    fn declared(&self, name: &str) -> Option<Declared> {
        let local = self.scopes.iter().rfind(|(local, _)| local == name);
        if let Some((_, of)) = local {
            return Some(Declared::Local(of.clone()));
        }
        if let Some((number, variable)) = self.env.lookup(name) {
            return Some(Declared::Variable(number, variable.of.clone()));
        }
        type_named(name).map(Declared::Type)
    }

    fn select(&mut self, expr: &mut Expr) {
        if let Some(name) = expr.qualified_name() {
            let absolute = name.strip_prefix('.').unwrap_or(&name);
            if let Some(declared) = self.declared(absolute) {
                self.resolve(expr, absolute, declared);
                return;
            }
        }
        let id = expr.id;
        let ExprKind::Select {
            operand,
            field,
            test_only,
        } = &mut expr.kind
        else {
            return;
        };
        let of = self.field(id, operand, field, false);
        let of = match test_only {
            true => Type::Bool,
            false => self.substitution.apply(&of, false),
        };
        self.types.insert(id, of);
    }

    /// The type of `operand.field`; optional if it is selected with `.?`.
    fn field(&mut self, id: ExprId, operand: &mut Expr, field: &str, optional: bool) -> Type {
        self.check(operand);
        let of = self.substitution.apply(&self.type_of(operand.id), false);
        let (target, was_optional) = match of.optional_value() {
            Some(inner) => (inner.clone(), true),
            None => (of, false),
        };
        let result = match &target {
            Type::Map(_, value) => (**value).clone(),
            Type::Object(name) => self.object_field(id, name, field),
            Type::Param(_) => {
                self.substitution.assign(&Type::Dyn, &target);
                Type::Dyn
            }
            other => {
                if !other.is_dyn_or_error() {
                    let what = format!("type '{other}' does not support field selection");
                    self.report(id, what);
                }
                Type::Dyn
            }
        };
        match optional || was_optional {
            true => Type::optional(result),
            false => result,
        }
    }

    fn object_field(&mut self, id: ExprId, object: &str, field: &str) -> Type {
        if self.env.has_message(object) {
            return patch_field(object, field);
        }
        let Some(decl) = self.env.object(object).filter(|decl| decl.is_object()) else {
            let what = format!("unexpected failed resolution of '{object}'");
            self.report(id, what);
            return Type::Error;
        };
        // Reserved words need no escape after a dot.
        let reserved = format!("__{field}__");
        let found = decl.field(field).map(|of| (field, of)).or_else(|| {
            let of = decl.field(&reserved).filter(|_| is_reserved(field))?;
            Some((reserved.as_str(), of))
        });
        match found {
            Some((name, of)) => of.cel_type(&format!("{object}.{name}")),
            None => {
                self.report(id, format!("undefined field '{field}'"));
                Type::Error
            }
        }
    }

    fn message(&mut self, id: ExprId, name: &str, fields: &mut [FieldInit]) {
        let absolute = name.strip_prefix('.').unwrap_or(name);
        if !self.env.has_message(absolute) {
            return self.undeclared(id, name);
        }
        for field in fields {
            self.check(&mut field.value);
            let wanted = patch_field(absolute, &field.name);
            let found = self.unwrap_optional(field.value.id, field.optional);
            if !self.substitution.assign(&wanted, &found) {
                let found = self.substitution.apply(&found, true);
                let what = format!(
                    "expected type of field '{}' is '{wanted}' but provided type is '{found}'",
                    field.name
                );
                self.report(field.id, what);
            }
        }
        self.types.insert(id, Type::object(absolute));
    }

    fn list(&mut self, elements: &mut [Expr], optional: &[bool]) -> Type {
        let mut of = None;
        for (at, element) in elements.iter_mut().enumerate() {
            self.check(element);
            let optional = optional.get(at).copied().unwrap_or(false);
            let element_type = self.unwrap_optional(element.id, optional);
            of = Some(self.join(of, element_type));
        }
        Type::list(of.unwrap_or_else(|| self.substitution.fresh()))
    }

    fn map(&mut self, entries: &mut [Entry]) -> Type {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            self.check(&mut entry.key);
            let key = self.type_of(entry.key.id);
            keys = Some(self.join(keys, key));
            self.check(&mut entry.value);
            let value = self.unwrap_optional(entry.value.id, entry.optional);
            values = Some(self.join(values, value));
        }
        let key = keys.unwrap_or_else(|| self.substitution.fresh());
        let value = values.unwrap_or_else(|| self.substitution.fresh());
        match unify::size(&key) + unify::size(&value) > MAX_TYPE_SIZE {
            true => Type::map(key, Type::Dyn),
            false => Type::map(key, value),
        }
    }

    /// Returns the type of a value, or of the value in an optional.
    fn unwrap_optional(&mut self, id: ExprId, optional: bool) -> Type {
        let of = self.type_of(id);
        if !optional {
            return of;
        }
        match of.optional_value() {
            Some(inner) => inner.clone(),
            None => {
                if !of.is_dyn() {
                    self.mismatch(id, &Type::optional(of.clone()), &of);
                }
                of
            }
        }
    }

    fn join(&mut self, so_far: Option<Type>, next: Type) -> Type {
        let Some(so_far) = so_far else { return next };
        if self.substitution.assign(&so_far, &next) {
            return unify::most_general(&so_far, &next);
        }
        // Mixed types are checked when all types are known.
        Type::Dyn
    }

    fn comprehension(&mut self, fold: &mut Comprehension) -> Type {
        self.check(&mut fold.range);
        self.check(&mut fold.init);
        let range = self.substitution.apply(&self.type_of(fold.range.id), false);
        let accumulator = self.type_of(fold.init.id);
        let outer = self.scopes.len();
        self.scopes
            .push((fold.accu_var.clone(), accumulator.clone()));
        let two = fold.iter_var2.is_some();
        let (first, second) = match &range {
            Type::List(element) if two => (Type::Int, (**element).clone()),
            Type::List(element) => ((**element).clone(), Type::Error),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Dyn | Type::Error | Type::Param(_) => {
                self.substitution.assign(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let what = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.report(fold.range.id, what);
                (Type::Error, Type::Error)
            }
        };
        self.scopes.push((fold.iter_var.clone(), first));
        if let Some(name) = &fold.iter_var2 {
            self.scopes.push((name.clone(), second));
        }
        self.check(&mut fold.condition);
        self.expect(fold.condition.id, &Type::Bool);
        self.check(&mut fold.step);
        self.expect(fold.step.id, &accumulator);
        self.scopes.truncate(outer + 1);
        self.check(&mut fold.result);
        self.scopes.truncate(outer);
        self.substitution
            .apply(&self.type_of(fold.result.id), false)
    }

    fn expect(&mut self, id: ExprId, wanted: &Type) {
        let of = self.type_of(id);
        if !self.substitution.assign(wanted, &of) {
            self.mismatch(id, wanted, &of);
        }
    }

    fn type_of(&self, id: ExprId) -> Type {
        self.types.get(&id).cloned().unwrap_or(Type::Error)
    }

    fn undeclared(&mut self, id: ExprId, name: &str) {
        self.types.insert(id, Type::Error);
        self.report(
            id,
            format!("undeclared reference to '{name}' (in container '')"),
        );
    }

    fn mismatch(&mut self, id: ExprId, wanted: &Type, found: &Type) {
        self.report(id, format!("expected type '{wanted}' but found '{found}'"));
    }

    fn report(&mut self, id: ExprId, what: String) {
        let offset = self.offsets.get(id as usize).copied().flatten();
        let location = offset.map_or(Location::NONE, |offset| self.source.location(offset));
        self.issues.report(location, what);
    }
}

/// Returns the type of a field of the messages that patches are made of. `Object` has every field; a field that
/// `JSONPatch` does not have is of a type without a name, as it is in Kubernetes.
fn patch_field(message: &str, field: &str) -> Type {
    match (message, field) {
        (JSON_PATCH, "op" | "path" | "from") => Type::String,
        (JSON_PATCH, "value") => Type::Dyn,
        (JSON_PATCH, _) => Type::opaque(""),
        _ => Type::Dyn,
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}

/// The type of a name.
fn type_named(name: &str) -> Option<Type> {
    let of = match name {
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "double" => Type::Double,
        "google.protobuf.Duration" => Type::Duration,
        "google.protobuf.Timestamp" => Type::Timestamp,
        "int" => Type::Int,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "null_type" => Type::Null,
        "string" => Type::String,
        "type" => Type::Type(None),
        "uint" => Type::Uint,
        "net.IP" => Type::opaque("net.IP"),
        "net.CIDR" => Type::opaque("net.CIDR"),
        "optional_type" => Type::opaque("optional_type"),
        _ => return None,
    };
    Some(of)
}
