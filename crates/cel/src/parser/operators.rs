//! Operators: their tokens, precedence and trees.

use crate::ast::{Expr, ExprId, ExprKind, operators as op};

use super::lexer::TokenKind;

/// An operator without a right side yet.
#[derive(Clone, Copy)]
pub(super) struct Operator {
    pub(super) strength: u8,
    pub(super) id: ExprId,
    pub(super) function: &'static str,
}

/// The precedence of `&&`. It and `||`, which binds less, form balanced trees.
pub(super) const AND_STRENGTH: u8 = 1;

/// A call without a receiver.
pub(super) fn call(function: &str, args: Vec<Expr>) -> ExprKind {
    ExprKind::Call {
        target: None,
        function: function.to_owned(),
        args,
    }
}

/// Builds a balanced tree from `terms[low..=high]`.
pub(super) fn balance(
    terms: &mut [Option<Expr>],
    ids: &[ExprId],
    low: usize,
    high: usize,
    function: &str,
) -> Option<Expr> {
    if low == high {
        return terms.get_mut(low)?.take();
    }
    // Operators low..high join terms low..=high; the middle one is the root.
    let middle = (low + high) / 2;
    let left = balance(terms, ids, low, middle, function)?;
    let right = balance(terms, ids, middle + 1, high, function)?;
    let kind = call(function, vec![left, right]);
    Some(Expr {
        id: *ids.get(middle)?,
        kind,
    })
}

/// Returns the precedence of an operator, and its function.
pub(super) fn binary_operator(kind: TokenKind) -> Option<(u8, &'static str)> {
    Some(match kind {
        TokenKind::Or => (0, op::OR),
        TokenKind::And => (AND_STRENGTH, op::AND),
        TokenKind::Less => (2, op::LESS),
        TokenKind::LessEqual => (2, op::LESS_EQUALS),
        TokenKind::GreaterEqual => (2, op::GREATER_EQUALS),
        TokenKind::Greater => (2, op::GREATER),
        TokenKind::EqualEqual => (2, op::EQUALS),
        TokenKind::NotEqual => (2, op::NOT_EQUALS),
        TokenKind::In => (2, op::IN),
        TokenKind::Plus => (3, op::ADD),
        TokenKind::Minus => (3, op::SUBTRACT),
        TokenKind::Star => (4, op::MULTIPLY),
        TokenKind::Slash => (4, op::DIVIDE),
        TokenKind::Percent => (4, op::MODULO),
        _ => return None,
    })
}

pub(super) fn is_operator(kind: TokenKind) -> bool {
    binary_operator(kind).is_some() || kind == TokenKind::Question
}

pub(super) fn starts_member(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(
        kind,
        LeftBracket
            | LeftBrace
            | LeftParen
            | Dot
            | Minus
            | True
            | False
            | Null
            | Float
            | Int
            | Uint
            | String
            | Bytes
            | Ident
    )
}
