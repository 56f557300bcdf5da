//! Resolves calls to functions and their overloads.

use std::sync::Arc;

use crate::ast::{Expr, ExprId, ExprKind, Literal, operators as op};
use crate::functions::{Function, Overload};
use crate::types::Type;

use super::unify::Renaming;
use super::{Checker, Reference};

impl Checker<'_> {
    pub(super) fn call(&mut self, expr: &mut Expr) {
        let id = expr.id;
        let ExprKind::Call {
            target,
            function,
            args,
        } = &mut expr.kind
        else {
            return;
        };
        if function == op::OPT_SELECT
            && let [operand, field] = args.as_mut_slice()
        {
            let of = match &field.kind {
                ExprKind::Literal(Literal::String(name)) => {
                    let name = name.clone();
                    self.field(id, operand, &name, true)
                }
                _ => Type::Error,
            };
            let of = self.substitution.apply(&of, false);
            self.types.insert(id, of);
            if let Some(function) = self.env.function(op::OPT_SELECT) {
                let reference = Reference::Function(function.clone(), vec![0]);
                self.references.insert(id, reference);
            }
            return;
        }
        for arg in args.iter_mut() {
            self.check(arg);
        }
        if target.is_none() {
            let name = function.strip_prefix('.').unwrap_or(function);
            let Some(found) = self.env.function(name).cloned() else {
                let name = function.clone();
                return self.undeclared(id, &name);
            };
            *function = name.to_owned();
            let args: Vec<ExprId> = args.iter().map(|arg| arg.id).collect();
            return self.overloads(id, &found, &args, false);
        }
        // `a.b.c()` is the function `a.b.c`, if there is one, or else `c` of `a.b`.
        let prefix = target.as_ref().and_then(|target| target.qualified_name());
        if let Some(prefix) = prefix {
            let name = format!("{prefix}.{function}");
            let name = name.strip_prefix('.').unwrap_or(&name);
            if let Some(found) = self.env.function(name).cloned() {
                *target = None;
                *function = name.to_owned();
                let args: Vec<ExprId> = args.iter().map(|arg| arg.id).collect();
                return self.overloads(id, &found, &args, false);
            }
        }
        let mut ids = Vec::with_capacity(args.len() + 1);
        if let Some(target) = target {
            self.check(target);
            ids.push(target.id);
        }
        ids.extend(args.iter().map(|arg| arg.id));
        let Some(found) = self.env.function(function).cloned() else {
            let name = function.clone();
            return self.undeclared(id, &name);
        };
        self.overloads(id, &found, &ids, true);
    }

    fn overloads(&mut self, id: ExprId, function: &Arc<Function>, args: &[ExprId], member: bool) {
        let mut types: Vec<Type> = args.iter().map(|arg| self.type_of(*arg)).collect();
        if function.name == op::AND || function.name == op::OR {
            return self.logic(id, function, args, &types);
        }
        let mut result: Option<Type> = None;
        let mut candidates = Vec::new();
        for (at, overload) in function.overloads.iter().enumerate() {
            if overload.member != member || overload.params.len() != types.len() {
                continue;
            }
            let Some(of) = self.try_overload(overload, &types) else {
                continue;
            };
            candidates.push(at);
            result = Some(match result {
                None => of,
                Some(so_far) if !so_far.is_dyn() && so_far != of => Type::Dyn,
                Some(so_far) => so_far,
            });
        }
        match result {
            Some(of) => {
                self.types.insert(id, of);
                let reference = Reference::Function(function.clone(), candidates);
                self.references.insert(id, reference);
            }
            None => {
                for of in &mut types {
                    *of = self.substitution.apply(of, true);
                }
                let signature = signature(&types, member);
                self.report(
                    id,
                    format!(
                        "found no matching overload for '{}' applied to '{signature}'",
                        function.name
                    ),
                );
                self.types.insert(id, Type::Error);
            }
        }
    }

    /// The result type, if the overload takes the arguments.
    fn try_overload(&mut self, overload: &Overload, args: &[Type]) -> Option<Type> {
        if overload.type_params.is_empty() {
            return self
                .substitution
                .assign_all(args, &overload.params)
                .then(|| overload.result.clone());
        }
        let renaming = Renaming::new(&overload.type_params, &mut self.substitution);
        let params: Vec<Type> = overload.params.iter().map(|p| renaming.apply(p)).collect();
        if !self.substitution.assign_all(args, &params) {
            return None;
        }
        let result = renaming.apply(&overload.result);
        Some(self.substitution.apply(&result, false))
    }

    fn logic(&mut self, id: ExprId, function: &Arc<Function>, args: &[ExprId], types: &[Type]) {
        let mut fits = true;
        for (arg, of) in args.iter().zip(types) {
            if !self.substitution.assign(of, &Type::Bool) {
                self.mismatch(*arg, &Type::Bool, of);
                fits = false;
            }
        }
        let of = if fits { Type::Bool } else { Type::Error };
        self.types.insert(id, of);
        let reference = Reference::Function(function.clone(), vec![0]);
        self.references.insert(id, reference);
    }
}

/// `(int, string)`, or `list(int).(string)` for members.
fn signature(types: &[Type], member: bool) -> String {
    let (receiver, args) = match types.split_first() {
        Some((receiver, args)) if member => (format!("{receiver}."), args),
        _ => (String::new(), types),
    };
    let args: Vec<String> = args.iter().map(Type::to_string).collect();
    format!("{receiver}({})", args.join(", "))
}
