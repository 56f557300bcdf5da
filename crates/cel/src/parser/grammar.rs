//! The grammar, one function a rule.
//!
//! Rules leave parsed expressions on a stack ([`Parser::done`]) and return nothing, and code that does not recurse is
//! kept
//! out of those that do: nesting of 250 levels fits a small stack even without optimisation. Every expression is kept
//! with the number of operators, selections and calls nested in it, which is limited too.

use crate::ast::{Ast, Entry, Expr, ExprId, ExprKind, FieldInit, Literal, operators as op};
use crate::escape::is_reserved;
use crate::source::{Issues, Location, Source};

use super::lexer::{Token, TokenKind};
use super::literal;
use super::macros;
use super::nodes::Nodes;
use super::operators::{AND_STRENGTH, Operator, balance, binary_operator, call, starts_member};
use super::recovery::Expected;

/// The message for an expression that is nested too deeply.
pub(super) const TOO_DEEP: &str = "expression recursion limit exceeded: 250";
const MAX_DEPTH: usize = 250;

pub(super) struct Parser<'s, 'i> {
    pub(super) source: &'s Source,
    pub(super) tokens: Vec<Token<'s>>,
    pub(super) at: usize,
    /// The number of open expressions.
    open: usize,
    /// Parsed expressions that are not yet part of another, with their nesting depth.
    done: Vec<(Expr, usize)>,
    /// The operators without a right side yet.
    waiting: Vec<Operator>,
    /// The tokens that would close the open constructs.
    pub(super) closers: Vec<TokenKind>,
    pub(super) nodes: Nodes,
    pub(super) issues: &'i mut Issues,
    /// `true` after an error, until the next token is accepted.
    pub(super) recovering: bool,
    /// `true` if `cel.bind` is a macro.
    pub(super) bindings: bool,
}

/// The result of a rule; `None` after a fatal error, which has been reported.
pub(super) type Rule = Option<()>;

impl<'s, 'i> Parser<'s, 'i> {
    pub(super) fn new(source: &'s Source, tokens: Vec<Token<'s>>, issues: &'i mut Issues) -> Self {
        Self {
            source,
            tokens,
            at: 0,
            open: 0,
            done: Vec::new(),
            waiting: Vec::new(),
            closers: Vec::new(),
            nodes: Nodes::new(),
            issues,
            recovering: false,
            bindings: false,
        }
    }

    /// Makes `cel.bind` a macro.
    pub(super) fn with_bindings(mut self, bindings: bool) -> Self {
        self.bindings = bindings;
        self
    }

    pub(super) fn parse(mut self) -> Option<Ast> {
        self.expr()?;
        self.expect_end();
        let (root, _) = self.done.pop()?;
        if self.nodes.is_full() {
            let what = "expression size exceeds limit after macros are expanded";
            self.issues.report(Location::NONE, what);
            return None;
        }
        Some(Ast {
            root,
            offsets: self.nodes.into_offsets(),
        })
    }

    fn expr(&mut self) -> Rule {
        self.open += 1;
        if self.open > MAX_DEPTH {
            self.issues.report(Location::NONE, TOO_DEEP);
            return None;
        }
        self.operation()?;
        if self.peek().kind == TokenKind::Question {
            self.conditional()?;
        }
        self.open -= 1;
        Some(())
    }

    fn conditional(&mut self) -> Rule {
        let id = self.take_as_id();
        self.closers.push(TokenKind::Colon);
        self.operation()?;
        self.closers.pop();
        if !self.expect(TokenKind::Colon) {
            return Some(());
        }
        self.expr()?;
        self.combine(id, op::CONDITIONAL, 3, 1);
        Some(())
    }

    /// Parses terms joined by operators.
    fn operation(&mut self) -> Rule {
        let base = self.waiting.len();
        loop {
            self.unary()?;
            let more = self.operator(base);
            self.not_too_deep()?;
            if !more {
                return Some(());
            }
        }
    }

    /// Combines the operators that bind a term; returns whether another operator follows.
    fn operator(&mut self, base: usize) -> bool {
        let token = self.peek();
        let next = binary_operator(token.kind);
        while let Some(top) = self
            .waiting
            .get(base..)
            .and_then(<[Operator]>::last)
            .copied()
        {
            let binds = match next {
                None => true,
                Some((strength, _)) if top.strength <= AND_STRENGTH => top.strength > strength,
                Some((strength, _)) => top.strength >= strength,
            };
            if !binds {
                break;
            }
            if top.strength > AND_STRENGTH {
                self.waiting.pop();
                self.combine(top.id, top.function, 2, 1);
            } else {
                self.combine_chain(base, top);
            }
        }
        let Some((strength, function)) = next else {
            return false;
        };
        let id = self.take_as_id();
        self.waiting.push(Operator {
            strength,
            id,
            function,
        });
        true
    }

    fn unary(&mut self) -> Rule {
        let Some((function, offset)) = self.unary_operator() else {
            return self.member();
        };
        if function.is_empty() {
            return self.member();
        }
        let id = self.nodes.id(offset);
        self.member()?;
        self.combine(id, function, 1, 0);
        Some(())
    }

    /// Parses repeated `!` or `-`. An even number cancels out.
    fn unary_operator(&mut self) -> Option<(&'static str, u32)> {
        let first = self.peek();
        let number = |token: Token<'_>| matches!(token.kind, TokenKind::Int | TokenKind::Float);
        let function = match first.kind {
            TokenKind::Not => op::NOT,
            TokenKind::Minus if !number(self.peek_at(1)) => op::NEGATE,
            _ => return None,
        };
        let mut odd = false;
        while self.peek().kind == first.kind {
            self.take();
            odd = !odd;
        }
        if function == op::NEGATE && !starts_member(self.peek().kind) {
            self.no_viable_alternative(first);
        }
        Some((if odd { function } else { "" }, first.offset))
    }

    fn member(&mut self) -> Rule {
        self.primary()?;
        loop {
            match self.peek().kind {
                TokenKind::Dot => self.selection()?,
                TokenKind::LeftBracket => self.index()?,
                _ => return Some(()),
            }
            self.not_too_deep()?;
        }
    }

    /// Stops at once when too many operators are nested, because the tree is dropped level by level.
    fn not_too_deep(&mut self) -> Rule {
        let deepest = self.done.last().map_or(0, |(_, depth)| *depth);
        if deepest > MAX_DEPTH {
            let what = "max recursion depth exceeded";
            self.issues.report(Location::NONE, what);
            return None;
        }
        Some(())
    }

    fn index(&mut self) -> Rule {
        let id = self.take_as_id();
        let optional = self.skip(TokenKind::Question);
        let function = if optional { op::OPT_INDEX } else { op::INDEX };
        self.closers.push(TokenKind::RightBracket);
        if optional || self.begins(Expected::Index) {
            self.expr()?;
        }
        self.closers.pop();
        self.combine(id, function, 2, 1);
        self.expect(TokenKind::RightBracket);
        Some(())
    }

    /// `.field`, `.?field` or `.call(...)`.
    fn selection(&mut self) -> Rule {
        let Some((id, name)) = self.selected() else {
            return Some(());
        };
        let count = self.arguments()?;
        self.finish_call(id, name, true, count);
        Some(())
    }

    /// Adds a field to the operand, or returns the position and name of a call.
    fn selected(&mut self) -> Option<(ExprId, String)> {
        let dot = self.take();
        let optional = self.skip(TokenKind::Question);
        let name = self.field_name(dot, optional)?;
        let text = name.text.to_owned();
        if name.kind == TokenKind::Ident && !optional && self.peek().kind == TokenKind::LeftParen {
            return Some((self.take_as_id(), text));
        }
        let (operand, depth) = self.done.pop()?;
        let kind = if optional {
            let field = self.nodes.literal(name.offset, Literal::String(text));
            call(op::OPT_SELECT, vec![operand, field])
        } else {
            ExprKind::Select {
                operand: Box::new(operand),
                field: text,
                test_only: false,
            }
        };
        let selected = self.nodes.node(dot.offset, kind);
        self.done.push((selected, depth + 1));
        None
    }

    fn primary(&mut self) -> Rule {
        if !self.begins(Expected::Expression) {
            return Some(());
        }
        match self.peek().kind {
            TokenKind::LeftParen => self.nested(),
            TokenKind::LeftBracket => self.list(),
            TokenKind::LeftBrace => self.map(),
            TokenKind::Dot | TokenKind::Ident => self.name(),
            _ => {
                self.literal();
                Some(())
            }
        }
    }

    fn nested(&mut self) -> Rule {
        self.take();
        self.closers.push(TokenKind::RightParen);
        self.expr()?;
        self.closers.pop();
        self.expect(TokenKind::RightParen);
        Some(())
    }

    fn literal(&mut self) {
        let start = self.take();
        let negative = start.kind == TokenKind::Minus;
        let token = if negative { self.take() } else { start };
        if negative && !matches!(token.kind, TokenKind::Int | TokenKind::Float) {
            self.at = self.at.saturating_sub(1);
            self.no_viable_alternative(start);
            return self.placeholder(start.offset);
        }
        let node = match literal::value(token, negative) {
            Ok(value) => self.nodes.literal(start.offset, value),
            Err(what) => self.error_at(start.offset, what),
        };
        self.done.push((node, 0));
    }

    /// A variable, a function call, or a message.
    fn name(&mut self) -> Rule {
        match self.name_head() {
            Head::Done => Some(()),
            Head::Call(id, name) => {
                let count = self.arguments()?;
                self.finish_call(id, name, false, count);
                Some(())
            }
            Head::Message(id, type_name) => {
                let (fields, depth) = self.fields()?;
                let kind = ExprKind::Struct { type_name, fields };
                self.done.push((Expr { id, kind }, depth));
                Some(())
            }
            Head::Reserved(offset, name, called) => {
                if called {
                    let count = self.arguments()?;
                    self.done.truncate(self.done.len().saturating_sub(count));
                }
                let node = self.error_at(offset, &format!("reserved identifier: {name}"));
                self.done.push((node, 0));
                Some(())
            }
        }
    }

    fn name_head(&mut self) -> Head {
        let start = self.peek();
        let absolute = self.skip(TokenKind::Dot);
        let name = self.peek();
        if name.kind != TokenKind::Ident {
            self.no_viable_alternative(start);
            self.placeholder(start.offset);
            return Head::Done;
        }
        let prefix = if absolute { "." } else { "" };
        if let Some(length) = self.message_length() {
            let mut type_name = prefix.to_owned();
            for _ in 0..length {
                type_name.push_str(self.take().text);
            }
            return Head::Message(self.take_as_id(), type_name);
        }
        self.take();
        let called = self.peek().kind == TokenKind::LeftParen;
        if is_reserved(name.text) {
            if called {
                self.take();
            }
            return Head::Reserved(start.offset, name.text.to_owned(), called);
        }
        let text = format!("{prefix}{}", name.text);
        if called {
            return Head::Call(self.take_as_id(), text);
        }
        let node = self.nodes.node(name.offset, ExprKind::Ident(text));
        self.done.push((node, 0));
        Head::Done
    }

    /// Returns the number of tokens of the name of a message, if one follows: `a.b.Type{`.
    fn message_length(&self) -> Option<usize> {
        let mut length = 1;
        while self.peek_at(length).kind == TokenKind::Dot
            && self.peek_at(length + 1).kind == TokenKind::Ident
        {
            length += 2;
        }
        (self.peek_at(length).kind == TokenKind::LeftBrace).then_some(length)
    }

    /// Parses the fields of a message; returns them and how much is nested in them.
    fn fields(&mut self) -> Option<(Vec<FieldInit>, usize)> {
        let (mut fields, mut deepest) = (Vec::new(), 0);
        self.closers.push(TokenKind::RightBrace);
        while self.peek().kind != TokenKind::RightBrace {
            let optional = self.skip(TokenKind::Question);
            let name = self.peek();
            if !self.expect(TokenKind::Ident) {
                break;
            }
            let colon = self.peek();
            if !self.expect(TokenKind::Colon) {
                break;
            }
            let id = self.nodes.id(colon.offset);
            self.expr()?;
            if let Some((value, depth)) = self.done.pop() {
                deepest = deepest.max(depth);
                fields.push(FieldInit {
                    id,
                    name: name.text.to_owned(),
                    value,
                    optional,
                });
            }
            if !self.skip(TokenKind::Comma) {
                break;
            }
        }
        self.closers.pop();
        self.expect(TokenKind::RightBrace);
        Some((fields, deepest))
    }

    fn list(&mut self) -> Rule {
        let id = self.take_as_id();
        let mut optional = Vec::new();
        self.closers.push(TokenKind::RightBracket);
        while self.another_item(optional.len(), TokenKind::RightBracket) {
            optional.push(self.skip(TokenKind::Question));
            self.expr()?;
        }
        self.finish_list(id, optional);
        Some(())
    }

    fn map(&mut self) -> Rule {
        let id = self.take_as_id();
        let mut optional = Vec::new();
        self.closers.push(TokenKind::RightBrace);
        while self.another_item(optional.len(), TokenKind::RightBrace) {
            optional.push(self.skip(TokenKind::Question));
            self.expr()?;
            self.map_colon();
            self.expr()?;
        }
        self.finish_map(id, &optional);
        Some(())
    }

    /// The arguments of a call and the parenthesis after them; how many there are.
    fn arguments(&mut self) -> Option<usize> {
        self.closers.push(TokenKind::RightParen);
        let mut count = 0;
        if self.peek().kind != TokenKind::RightParen && self.begins(Expected::Arguments) {
            loop {
                self.expr()?;
                count += 1;
                if !self.skip(TokenKind::Comma) {
                    break;
                }
            }
        }
        self.closers.pop();
        self.expect(TokenKind::RightParen);
        Some(count)
    }

    /// Builds a call from the last `count` expressions.
    fn combine(&mut self, id: ExprId, function: &str, count: usize, deeper: usize) {
        let (args, depth) = self.pop(count);
        let kind = call(function, args);
        self.done.push((Expr { id, kind }, depth + deeper));
    }

    /// Builds a balanced tree from a chain of `&&` or `||`.
    fn combine_chain(&mut self, base: usize, top: Operator) {
        let chain = self.waiting[base..].iter().rev();
        let count = chain.take_while(|o| o.strength == top.strength).count();
        let operators = self.waiting.split_off(self.waiting.len() - count);
        let ids: Vec<ExprId> = operators.iter().map(|operator| operator.id).collect();
        let (terms, depth) = self.pop(count + 1);
        let mut terms: Vec<Option<Expr>> = terms.into_iter().map(Some).collect();
        if let Some(tree) = balance(&mut terms, &ids, 0, count, top.function) {
            self.done.push((tree, depth));
        }
    }

    fn finish_call(&mut self, id: ExprId, name: String, member: bool, count: usize) {
        let (args, args_depth) = self.pop(count);
        let (target, depth) = match member {
            true => {
                let (mut target, depth) = self.pop(1);
                (target.pop(), depth.max(args_depth) + 1)
            }
            false => (None, args_depth),
        };
        let node = macros::call(self, id, name, target, args);
        self.done.push((node, depth));
    }

    fn finish_list(&mut self, id: ExprId, optional: Vec<bool>) {
        let (elements, depth) = self.pop(optional.len());
        let kind = ExprKind::List { elements, optional };
        self.done.push((Expr { id, kind }, depth));
    }

    fn finish_map(&mut self, id: ExprId, optional: &[bool]) {
        let (parts, depth) = self.pop(2 * optional.len());
        let mut parts = parts.into_iter();
        let mut entries = Vec::with_capacity(optional.len());
        for optional in optional {
            if let (Some(key), Some(value)) = (parts.next(), parts.next()) {
                entries.push(Entry {
                    key,
                    value,
                    optional: *optional,
                });
            }
        }
        let kind = ExprKind::Map(entries);
        self.done.push((Expr { id, kind }, depth));
    }

    /// The last `count` expressions, and how much is nested in them.
    fn pop(&mut self, count: usize) -> (Vec<Expr>, usize) {
        let last = self.done.split_off(self.done.len().saturating_sub(count));
        let depth = last.iter().map(|(_, depth)| *depth).max().unwrap_or(0);
        (last.into_iter().map(|(expr, _)| expr).collect(), depth)
    }

    /// Adds a placeholder for a missing expression.
    pub(super) fn placeholder(&mut self, offset: u32) {
        let node = self.nodes.node(offset, ExprKind::Unspecified);
        self.done.push((node, 0));
    }

    /// Reports an error and returns a placeholder.
    pub(super) fn error_at(&mut self, offset: u32, what: &str) -> Expr {
        self.issues.report(self.source.location(offset), what);
        self.nodes.node(offset, ExprKind::Unspecified)
    }

    fn take_as_id(&mut self) -> ExprId {
        let token = self.take();
        self.nodes.id(token.offset)
    }
}

/// The construct that a name begins.
enum Head {
    Done,
    Call(ExprId, String),
    Message(ExprId, String),
    /// A reserved word: its position, text, and whether it is called.
    Reserved(u32, String, bool),
}
