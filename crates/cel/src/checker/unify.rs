//! Checks assignability and infers open types.

use std::collections::HashMap;
use std::sync::Arc;

use crate::types::Type;

/// The bindings of type variables.
#[derive(Debug, Default)]
pub(super) struct Substitution {
    bindings: HashMap<Arc<str>, Type>,
    /// The previous bindings, to roll back to.
    log: Vec<(Arc<str>, Option<Type>)>,
    fresh: usize,
}

/// New names for the type variables of an overload.
pub(super) struct Renaming<'o> {
    names: Vec<(&'o Arc<str>, Type)>,
}

impl Substitution {
    /// Creates a new type variable.
    pub(super) fn fresh(&mut self) -> Type {
        let name = format!("_var{}", self.fresh);
        self.fresh += 1;
        Type::Param(name.into())
    }

    /// Reports whether `from` can be assigned to `to`; binds type variables so that it can.
    pub(super) fn assign(&mut self, from: &Type, to: &Type) -> bool {
        let mark = self.log.len();
        let fits = self.unify(from, to);
        self.keep(mark, fits)
    }

    /// Assigns each pair of two lists.
    pub(super) fn assign_all(&mut self, from: &[Type], to: &[Type]) -> bool {
        let mark = self.log.len();
        let fits = from.len() == to.len() && from.iter().zip(to).all(|(f, t)| self.unify(f, t));
        self.keep(mark, fits)
    }

    /// Replaces the variables of a type by their bindings, and unbound ones by `dyn` if `open`.
    pub(super) fn apply(&self, of: &Type, open: bool) -> Type {
        match of {
            Type::Param(name) => match self.bindings.get(name) {
                Some(bound) => self.apply(bound, open),
                None if open => Type::Dyn,
                None => of.clone(),
            },
            Type::List(element) => Type::list(self.apply(element, open)),
            Type::Map(key, value) => Type::map(self.apply(key, open), self.apply(value, open)),
            Type::Type(Some(of)) => Type::Type(Some(Arc::new(self.apply(of, open)))),
            Type::Opaque(name, params) if !params.is_empty() => {
                let params = params.iter().map(|p| self.apply(p, open)).collect();
                Type::Opaque(name.clone(), params)
            }
            other => other.clone(),
        }
    }

    fn keep(&mut self, mark: usize, fits: bool) -> bool {
        if fits {
            self.log.clear();
            return true;
        }
        while self.log.len() > mark {
            let Some((name, before)) = self.log.pop() else {
                break;
            };
            match before {
                Some(before) => self.bindings.insert(name, before),
                None => self.bindings.remove(&name),
            };
        }
        false
    }

    fn bind(&mut self, name: &Arc<str>, to: Type) {
        let before = self.bindings.insert(name.clone(), to);
        self.log.push((name.clone(), before));
    }

    fn unify(&mut self, from: &Type, to: &Type) -> bool {
        if let Type::Param(name) = to {
            let (valid, bound) = self.substitutes(from, name);
            if valid {
                return true;
            }
            if bound {
                return false;
            }
        }
        if let Type::Param(name) = from {
            return self.substitutes(to, name).0;
        }
        if from.is_dyn_or_error() || to.is_dyn_or_error() {
            return true;
        }
        match (from, to) {
            (Type::Null, other) | (other, Type::Null) => is_nullable(other),
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(a), Type::List(b)) => self.unify(a, b),
            (Type::Map(ak, av), Type::Map(bk, bv)) => self.unify(ak, bk) && self.unify(av, bv),
            (Type::Opaque(a, ap), Type::Opaque(b, bp)) => {
                a == b
                    && ap.len() == bp.len()
                    && ap.iter().zip(bp.iter()).all(|(x, y)| self.unify(x, y))
            }
            (a, b) => a == b,
        }
    }

    /// Returns whether the variable can stand for `of`, and whether it was bound already.
    fn substitutes(&mut self, of: &Type, variable: &Arc<str>) -> (bool, bool) {
        if matches!(of, Type::Param(name) if name == variable) {
            return (true, true);
        }
        if let Some(bound) = self.bindings.get(variable).cloned() {
            if *of == bound {
                return (true, true);
            }
            if self.unify(of, &bound) {
                let general = most_general(of, &bound);
                if !self.occurs(variable, &general) {
                    self.bind(variable, general);
                }
                return (true, true);
            }
            return (false, true);
        }
        if !self.occurs(variable, of) {
            self.bind(variable, of.clone());
            return (true, false);
        }
        (false, false)
    }

    /// Reports whether a variable is part of a type, directly or through other variables.
    fn occurs(&self, variable: &Arc<str>, within: &Type) -> bool {
        match within {
            Type::Param(name) if name == variable => true,
            Type::Param(name) => self
                .bindings
                .get(name)
                .is_some_and(|bound| self.occurs(variable, bound)),
            Type::List(element) => self.occurs(variable, element),
            Type::Map(key, value) => self.occurs(variable, key) || self.occurs(variable, value),
            Type::Type(Some(of)) => self.occurs(variable, of),
            Type::Opaque(_, params) => params.iter().any(|p| self.occurs(variable, p)),
            _ => false,
        }
    }
}

impl<'o> Renaming<'o> {
    pub(super) fn new(params: &'o [Arc<str>], substitution: &mut Substitution) -> Self {
        let names = params.iter().map(|name| (name, substitution.fresh()));
        Self {
            names: names.collect(),
        }
    }

    pub(super) fn apply(&self, of: &Type) -> Type {
        match of {
            Type::Param(name) => {
                let new = self.names.iter().find(|(old, _)| *old == name);
                new.map_or_else(|| of.clone(), |(_, new)| new.clone())
            }
            Type::List(element) => Type::list(self.apply(element)),
            Type::Map(key, value) => Type::map(self.apply(key), self.apply(value)),
            Type::Type(Some(of)) => Type::Type(Some(Arc::new(self.apply(of)))),
            Type::Opaque(name, params) if !params.is_empty() => {
                Type::Opaque(name.clone(), params.iter().map(|p| self.apply(p)).collect())
            }
            other => other.clone(),
        }
    }
}

/// The less specific of two types that unify.
pub(super) fn most_general(a: &Type, b: &Type) -> Type {
    match is_equal_or_less_specific(a, b) {
        true => a.clone(),
        false => b.clone(),
    }
}

/// Returns the number of types that a type consists of.
pub(super) fn size(of: &Type) -> usize {
    match of {
        Type::List(element) => 1 + size(element),
        Type::Map(key, value) => 1 + size(key) + size(value),
        Type::Type(Some(of)) => 1 + size(of),
        Type::Opaque(_, params) => 1 + params.iter().map(size).sum::<usize>(),
        _ => 1,
    }
}

fn is_equal_or_less_specific(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dyn | Type::Any | Type::Param(_), _) => true,
        (_, Type::Dyn | Type::Any | Type::Param(_)) => false,
        (Type::Opaque(an, ap), Type::Opaque(bn, bp)) => {
            an == bn
                && ap.len() == bp.len()
                && ap
                    .iter()
                    .zip(bp.iter())
                    .all(|(x, y)| is_equal_or_less_specific(x, y))
        }
        (Type::List(x), Type::List(y)) => is_equal_or_less_specific(x, y),
        (Type::Map(ak, av), Type::Map(bk, bv)) => {
            is_equal_or_less_specific(ak, bk) && is_equal_or_less_specific(av, bv)
        }
        (Type::Type(_), Type::Type(_)) => true,
        (a, b) => a == b,
    }
}

/// Reports whether null can be a value of the type.
fn is_nullable(of: &Type) -> bool {
    matches!(
        of,
        Type::Null | Type::Opaque(..) | Type::Object(_) | Type::Duration | Type::Timestamp
    )
}
