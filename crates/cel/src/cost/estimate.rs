//! Estimates costs: a walk over the checked tree with known sizes.
//!
//! Sizes come from literals, from declared types by path, from functions, and from the variables of comprehensions. A
//! path that does not begin at a variable begins at the declared type all the same, as in the reference implementation.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::{Comprehension, Expr, ExprId, ExprKind, Literal};
use crate::checker::{Checked, Reference};
use crate::decl::DeclType;
use crate::types::Type;

use super::ranges::{CostEstimate, SizeEstimate};
use super::{LIST_COST, MAP_COST};

/// Estimates the minimum and maximum cost of an expression.
pub(crate) fn estimate(checked: &Checked) -> CostEstimate {
    let root = checked.env.declared_root().cloned();
    Estimator {
        checked,
        root,
        paths: HashMap::new(),
        sizes: HashMap::new(),
        entries: HashMap::new(),
        locals: HashMap::new(),
    }
    .cost(&checked.root)
}

pub(super) struct Estimator<'c> {
    checked: &'c Checked,
    /// The root of paths.
    root: Option<Arc<DeclType>>,
    paths: HashMap<ExprId, Path>,
    sizes: HashMap<ExprId, SizeEstimate>,
    entries: HashMap<ExprId, EntrySize>,
    locals: HashMap<String, Vec<Local>>,
}

/// The path of a value in the declared type, if it has one; the path need not exist.
pub(super) type Path = Option<Option<Arc<DeclType>>>;

/// The sizes of the entries of a list or map.
#[derive(Clone, Copy)]
pub(super) struct EntrySize {
    is_list: bool,
    key: SizeEstimate,
    value: SizeEstimate,
}

#[derive(Clone)]
struct Local {
    path: Path,
    size: Option<SizeEstimate>,
    entry: Option<EntrySize>,
}

/// An argument of a call, as cost functions see it.
pub(super) struct Node<'e> {
    pub(super) expr: &'e Expr,
    pub(super) of: &'e Type,
    pub(super) path: Path,
    /// The size, if the expression determines it.
    pub(super) size: Option<SizeEstimate>,
}

/// A step of a path.
enum Step<'s> {
    Element,
    Key,
    /// The index of a list, which has no type.
    Index,
    Field(&'s str),
}

impl<'c> Estimator<'c> {
    pub(super) fn cost(&mut self, expr: &'c Expr) -> CostEstimate {
        match &expr.kind {
            ExprKind::Unspecified | ExprKind::Literal(_) | ExprKind::Struct { .. } => {
                CostEstimate::fixed(0)
            }
            ExprKind::Ident(name) => {
                let path = match self.local(name) {
                    Some(local) => local.path.clone(),
                    None => Some(self.root.clone()),
                };
                self.paths.insert(expr.id, path);
                CostEstimate::fixed(1)
            }
            ExprKind::Select {
                operand,
                field,
                test_only,
            } => {
                let cost = self.cost(operand);
                if *test_only {
                    return cost;
                }
                let path = self.step(self.path(operand), Step::Field(field));
                self.paths.insert(expr.id, path);
                match self.checked.type_of(operand.id) {
                    Type::Map(..) | Type::Object(_) => cost.add(CostEstimate::fixed(1)),
                    _ => cost,
                }
            }
            ExprKind::Call {
                target,
                function,
                args,
            } => self.call(expr, target.as_deref(), function, args),
            ExprKind::List { elements, .. } => self.list(expr, elements),
            ExprKind::Map(entries) => {
                let mut cost = CostEstimate::fixed(MAP_COST);
                let (mut key, mut value) = (start(entries.is_empty()), start(entries.is_empty()));
                for entry in entries {
                    cost = cost.add(self.cost(&entry.key));
                    cost = cost.add(self.cost(&entry.value));
                    key = key.union(self.size_or_unknown(&entry.key));
                    value = value.union(self.size_or_unknown(&entry.value));
                }
                let sizes = EntrySize {
                    is_list: false,
                    key,
                    value,
                };
                self.entries.insert(expr.id, sizes);
                cost
            }
            ExprKind::Comprehension(fold) => match is_bind(fold) {
                true => self.bind(expr, fold),
                false => self.fold(expr, fold),
            },
        }
    }

    fn list(&mut self, expr: &'c Expr, elements: &'c [Expr]) -> CostEstimate {
        let mut cost = CostEstimate::fixed(LIST_COST);
        let mut value = start(elements.is_empty());
        for element in elements {
            cost = cost.add(self.cost(element));
            value = value.union(self.size_or_unknown(element));
        }
        let sizes = EntrySize {
            is_list: true,
            key: SizeEstimate::fixed(1),
            value,
        };
        self.entries.insert(expr.id, sizes);
        cost
    }

    fn call(
        &mut self,
        expr: &'c Expr,
        target: Option<&'c Expr>,
        function: &str,
        args: &'c [Expr],
    ) -> CostEstimate {
        if function == "dyn"
            && let [arg] = args
        {
            let cost = self.cost(arg).add(CostEstimate::fixed(1));
            self.copy_sizes(expr, arg);
            return cost;
        }
        let mut costs = Vec::with_capacity(args.len());
        let mut nodes = Vec::with_capacity(args.len());
        for arg in args {
            costs.push(self.cost(arg));
            nodes.push(self.node(arg));
        }
        let Some(Reference::Function(found, overloads)) = self.checked.reference(expr.id) else {
            return CostEstimate::fixed(0);
        };
        let mut sum = CostEstimate::fixed(0);
        let target = target.map(|target| {
            sum = self.cost(target);
            self.node(target)
        });
        let mut cost = CostEstimate {
            min: u64::MAX,
            max: 0,
        };
        let mut size: Option<SizeEstimate> = None;
        for overload in overloads.iter().filter_map(|at| found.overloads.get(*at)) {
            let id = &*overload.id;
            let call = self.function_cost(expr, found.name, id, target.as_ref(), &nodes, &costs);
            cost = cost.union(call.cost);
            if let Some(result) = call.result {
                size = Some(size.map_or(result, |size| size.union(result)));
            }
            if let Some(first) = args.first()
                && matches!(id, "index_list" | "index_map")
            {
                size = self.entry_size(first).map(|entry| entry.value);
                let path = self.step(self.path(first), Step::Element);
                self.paths.insert(expr.id, path);
            }
            if size.is_none() {
                size = self.size(expr);
            }
        }
        if let Some(size) = size {
            self.sizes.insert(expr.id, size);
        }
        sum.add(cost)
    }

    fn fold(&mut self, expr: &'c Expr, fold: &'c Comprehension) -> CostEstimate {
        let mut sum = self.cost(&fold.range).add(self.cost(&fold.init));
        self.push_value(&fold.accu_var, &fold.init);
        match &fold.iter_var2 {
            Some(second) => {
                self.push_key(&fold.iter_var, &fold.range);
                self.push_element(second, &fold.range);
            }
            None if self.is_list(&fold.range) => self.push_element(&fold.iter_var, &fold.range),
            None => self.push_map_key(&fold.iter_var, &fold.range),
        }
        let each = self.cost(&fold.condition).add(self.cost(&fold.step));
        self.pop(&fold.iter_var);
        if let Some(second) = &fold.iter_var2 {
            self.pop(second);
        }
        sum = sum.add(self.cost(&fold.result));
        self.pop(&fold.accu_var);
        let count = self.size_or_unknown(&fold.range);
        sum = sum.add(count.cost_of_each(each));
        match &fold.init.kind {
            ExprKind::Literal(_) => {
                if let Some(size) = self.size(&fold.init) {
                    self.sizes.insert(expr.id, size);
                }
            }
            ExprKind::List { .. } | ExprKind::Map(_) => {
                self.sizes.insert(expr.id, count);
                if let Some(entry) = self.entry_size(&fold.step) {
                    self.entries.insert(expr.id, entry);
                }
            }
            _ => {}
        }
        sum
    }

    fn bind(&mut self, expr: &'c Expr, fold: &'c Comprehension) -> CostEstimate {
        let sum = self.cost(&fold.range).add(self.cost(&fold.init));
        self.push_value(&fold.accu_var, &fold.init);
        let sum = sum.add(self.cost(&fold.result));
        self.pop(&fold.accu_var);
        self.copy_sizes(expr, &fold.result);
        sum
    }

    pub(super) fn node(&mut self, expr: &'c Expr) -> Node<'c> {
        Node {
            expr,
            of: self.checked.type_of(expr.id),
            path: self.path(expr),
            size: self.size(expr),
        }
    }

    /// The size at a path.
    pub(super) fn size_at(path: &Path) -> Option<SizeEstimate> {
        let decl = path.as_ref()?.as_ref()?;
        Some(SizeEstimate {
            min: 0,
            max: decl.max_elements() as u64,
        })
    }

    /// A path to the elements of the value at a path.
    pub(super) fn elements_of(&self, path: Path) -> Path {
        match path {
            None => None,
            path => self.step(path, Step::Element),
        }
    }

    pub(super) fn entry_size(&self, expr: &Expr) -> Option<EntrySize> {
        if let Some(entry) = self.entries.get(&expr.id) {
            return Some(*entry);
        }
        match &expr.kind {
            ExprKind::Ident(name) => self.local(name)?.entry,
            _ => None,
        }
    }

    pub(super) fn set_entry_size(&mut self, expr: &Expr, entry: Option<EntrySize>) {
        if let Some(entry) = entry {
            self.entries.insert(expr.id, entry);
        }
    }

    fn size_or_unknown(&mut self, expr: &'c Expr) -> SizeEstimate {
        self.size(expr).unwrap_or(SizeEstimate::UNKNOWN)
    }

    fn size(&mut self, expr: &Expr) -> Option<SizeEstimate> {
        if let Some(size) = self.sizes.get(&expr.id) {
            return Some(*size);
        }
        if let Some(size) = own_size(expr) {
            return Some(SizeEstimate::fixed(size));
        }
        if let Some(size) = Self::size_at(&self.path(expr)) {
            self.sizes.insert(expr.id, size);
            return Some(size);
        }
        if is_scalar(self.checked.type_of(expr.id)) {
            return Some(SizeEstimate::fixed(1));
        }
        match &expr.kind {
            ExprKind::Ident(name) => self.local(name)?.size,
            _ => None,
        }
    }

    fn copy_sizes(&mut self, to: &Expr, from: &Expr) {
        if let Some(size) = self.size(from) {
            self.sizes.insert(to.id, size);
        }
        let entry = self.entry_size(from);
        self.set_entry_size(to, entry);
    }

    fn path(&self, expr: &Expr) -> Path {
        if let ExprKind::Ident(name) = &expr.kind
            && let Some(local) = self.local(name)
        {
            return local.path.clone();
        }
        self.paths.get(&expr.id).cloned().flatten()
    }

    /// A path one step longer. The first step of all leads to the root.
    fn step(&self, path: Path, step: Step<'_>) -> Path {
        let Some(at) = path else {
            return Some(self.root.clone());
        };
        let Some(at) = at else { return Some(None) };
        Some(match step {
            Step::Element => at.element().cloned(),
            Step::Key if at.is_map() => Some(DeclType::scalar(Type::String)),
            Step::Key | Step::Index => None,
            // The values of a map of attributes have the same size under every name.
            Step::Field(name) => at.field(name).or_else(|| at.attribute()).cloned(),
        })
    }

    fn is_list(&self, range: &Expr) -> bool {
        match self.entry_size(range) {
            Some(entry) => entry.is_list,
            None => matches!(self.checked.type_of(range.id), Type::List(_)),
        }
    }

    fn push_value(&mut self, name: &str, value: &'c Expr) {
        let local = Local {
            path: self.path(value),
            size: self.size(value),
            entry: self.entry_size(value),
        };
        self.push(name, local);
    }

    fn push_element(&mut self, name: &str, range: &Expr) {
        let path = self.step(self.path(range), Step::Element);
        let size = self.entry_size(range).map(|entry| entry.value);
        self.push_iteration(name, path, size);
    }

    fn push_key(&mut self, name: &str, range: &Expr) {
        match self.is_list(range) {
            true => {
                let path = self.step(self.path(range), Step::Index);
                let size = self.entry_size(range).map(|entry| entry.key);
                self.push_iteration(name, path, size);
            }
            false => self.push_map_key(name, range),
        }
    }

    fn push_map_key(&mut self, name: &str, range: &Expr) {
        let path = self.step(self.path(range), Step::Key);
        let size = self.entry_size(range).map(|entry| entry.key);
        self.push_iteration(name, path, size);
    }

    fn push_iteration(&mut self, name: &str, path: Path, size: Option<SizeEstimate>) {
        let local = Local {
            path,
            size,
            entry: None,
        };
        self.push(name, local);
    }

    fn push(&mut self, name: &str, local: Local) {
        self.locals.entry(name.to_owned()).or_default().push(local);
    }

    fn pop(&mut self, name: &str) {
        if let Some(locals) = self.locals.get_mut(name) {
            locals.pop();
        }
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.get(name)?.last()
    }
}

impl EntrySize {
    pub(super) fn union(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        let (a, b) = (a?, b?);
        Some(Self {
            is_list: a.is_list,
            key: a.key.union(b.key),
            value: a.value.union(b.value),
        })
    }
}

/// The union of no sizes; of an empty container, 0.
fn start(empty: bool) -> SizeEstimate {
    SizeEstimate {
        min: if empty { 0 } else { u64::MAX },
        max: 0,
    }
}

/// The size that a literal shows.
fn own_size(expr: &Expr) -> Option<u64> {
    let size = match &expr.kind {
        ExprKind::Literal(Literal::String(text)) => text.chars().count(),
        ExprKind::Literal(Literal::Bytes(bytes)) => bytes.len(),
        ExprKind::Literal(_) => 1,
        ExprKind::List { elements, .. } => elements.len(),
        ExprKind::Map(entries) => entries.len(),
        _ => return None,
    };
    Some(size as u64)
}

fn is_scalar(of: &Type) -> bool {
    match of {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => {
            true
        }
        of => of.optional_value().is_some_and(is_scalar),
    }
}

/// Reports whether a fold only binds a name to a value.
fn is_bind(fold: &Comprehension) -> bool {
    let no_range =
        matches!(&fold.range.kind, ExprKind::List { elements, .. } if elements.is_empty());
    let never = matches!(
        &fold.condition.kind,
        ExprKind::Literal(Literal::Bool(false))
    );
    no_range && never
}
