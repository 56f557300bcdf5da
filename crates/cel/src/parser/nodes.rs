//! Numbered nodes and their positions.

use crate::ast::{Comprehension, Entry, Expr, ExprId, ExprKind, FieldInit, Literal};

/// The maximum number of nodes of a tree. Nested macros that copy their target double it each time.
const MAX_NODES: usize = 400_000;

/// Allocates node ids and stores their positions.
pub(super) struct Nodes {
    offsets: Vec<Option<u32>>,
}

impl Nodes {
    pub(super) fn new() -> Self {
        Self {
            offsets: vec![None],
        }
    }

    pub(super) fn into_offsets(self) -> Vec<Option<u32>> {
        self.offsets
    }

    pub(super) fn id(&mut self, offset: u32) -> ExprId {
        self.offsets.push(Some(offset));
        (self.offsets.len() - 1) as ExprId
    }

    /// Reports whether the limit of nodes is exceeded.
    pub(super) fn is_full(&self) -> bool {
        self.offsets.len() > MAX_NODES
    }

    pub(super) fn offset(&self, id: ExprId) -> u32 {
        self.offsets
            .get(id as usize)
            .copied()
            .flatten()
            .unwrap_or(0)
    }

    /// Frees an id; the last one allocated is reused.
    pub(super) fn delete(&mut self, id: ExprId) {
        if id as usize + 1 == self.offsets.len() {
            self.offsets.pop();
        } else if let Some(offset) = self.offsets.get_mut(id as usize) {
            *offset = None;
        }
    }

    pub(super) fn node(&mut self, offset: u32, kind: ExprKind) -> Expr {
        let id = self.id(offset);
        Expr { id, kind }
    }

    pub(super) fn literal(&mut self, offset: u32, value: Literal) -> Expr {
        self.node(offset, ExprKind::Literal(value))
    }

    /// Copies an expression with new ids at the same positions.
    pub(super) fn copy(&mut self, expr: &Expr, macro_offset: u32) -> Expr {
        let offset = self.offset(expr.id);
        let id = self.id(offset);
        if self.is_full() {
            let kind = ExprKind::Unspecified;
            return Expr { id, kind };
        }
        let kind = match &expr.kind {
            ExprKind::Unspecified | ExprKind::Literal(_) | ExprKind::Ident(_) => expr.kind.clone(),
            ExprKind::Struct { type_name, fields } => ExprKind::Struct {
                type_name: type_name.clone(),
                fields: fields
                    .iter()
                    .map(|field| FieldInit {
                        id: self.id(macro_offset),
                        name: field.name.clone(),
                        value: self.copy(&field.value, macro_offset),
                        optional: field.optional,
                    })
                    .collect(),
            },
            ExprKind::Select {
                operand,
                field,
                test_only,
            } => ExprKind::Select {
                operand: Box::new(self.copy(operand, macro_offset)),
                field: field.clone(),
                test_only: *test_only,
            },
            ExprKind::Call {
                target,
                function,
                args,
            } => {
                let args = args
                    .iter()
                    .map(|arg| self.copy(arg, macro_offset))
                    .collect();
                let target = target
                    .as_ref()
                    .map(|t| Box::new(self.copy(t, macro_offset)));
                ExprKind::Call {
                    target,
                    function: function.clone(),
                    args,
                }
            }
            ExprKind::List { elements, optional } => ExprKind::List {
                elements: elements
                    .iter()
                    .map(|e| self.copy(e, macro_offset))
                    .collect(),
                optional: optional.clone(),
            },
            ExprKind::Map(entries) => ExprKind::Map(
                entries
                    .iter()
                    .map(|entry| {
                        self.id(macro_offset);
                        Entry {
                            key: self.copy(&entry.key, macro_offset),
                            value: self.copy(&entry.value, macro_offset),
                            optional: entry.optional,
                        }
                    })
                    .collect(),
            ),
            ExprKind::Comprehension(fold) => {
                let mut copy = |part: &Expr| self.copy(part, macro_offset);
                ExprKind::Comprehension(Box::new(Comprehension {
                    range: copy(&fold.range),
                    init: copy(&fold.init),
                    condition: copy(&fold.condition),
                    step: copy(&fold.step),
                    result: copy(&fold.result),
                    iter_var: fold.iter_var.clone(),
                    iter_var2: fold.iter_var2.clone(),
                    accu_var: fold.accu_var.clone(),
                }))
            }
        };
        Expr { id, kind }
    }
}

/// Reports whether a tree has more than `limit` levels.
pub(super) fn deeper_than(expr: &Expr, limit: usize) -> bool {
    let Some(limit) = limit.checked_sub(1) else {
        return true;
    };
    match &expr.kind {
        ExprKind::Unspecified | ExprKind::Literal(_) | ExprKind::Ident(_) => false,
        ExprKind::Struct { fields, .. } => fields.iter().any(|f| deeper_than(&f.value, limit)),
        ExprKind::Select { operand, .. } => deeper_than(operand, limit),
        ExprKind::Call { target, args, .. } => {
            target.as_ref().is_some_and(|t| deeper_than(t, limit))
                || args.iter().any(|arg| deeper_than(arg, limit))
        }
        ExprKind::List { elements, .. } => elements.iter().any(|e| deeper_than(e, limit)),
        ExprKind::Map(entries) => entries
            .iter()
            .any(|e| deeper_than(&e.key, limit) || deeper_than(&e.value, limit)),
        ExprKind::Comprehension(fold) => [
            &fold.range,
            &fold.init,
            &fold.condition,
            &fold.step,
            &fold.result,
        ]
        .iter()
        .any(|part| deeper_than(part, limit)),
    }
}
