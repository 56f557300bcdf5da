//! Parses text into a tree.
//!
//! A parser by recursive descent, with the limits of the reference implementation: 100,000 characters, 250 nested
//! expressions, 250 nested operators. Syntax errors have the messages of its generated parser, and parsing resumes
//! after them in nearly the same way.

mod grammar;
mod lexer;
mod literal;
mod macros;
mod nodes;
mod operators;
mod recovery;

use crate::ast::Ast;
use crate::source::{Issues, Location, Source};

use grammar::Parser;

/// The longest expression, in characters.
const MAX_CHARACTERS: usize = 100_000;
/// The maximum depth of a tree after macros are expanded. Everything after the parser recurses over the tree.
const MAX_TREE_DEPTH: usize = 1_000;

/// Parses an expression and expands its macros, `cel.bind` among them if `bindings`.
pub(crate) fn parse(source: &Source, bindings: bool) -> Result<Ast, Issues> {
    let mut issues = Issues::new(source);
    let size = source.text().chars().count();
    if size > MAX_CHARACTERS {
        let what = format!(
            "expression code point size exceeds limit: size: {size}, limit {MAX_CHARACTERS}"
        );
        issues.report(Location::NONE, what);
        return Err(issues);
    }
    let tokens = lexer::tokens(source, &mut issues);
    let parsed = Parser::new(source, tokens, &mut issues)
        .with_bindings(bindings)
        .parse();
    match parsed {
        Some(ast) if issues.is_empty() => {
            if nodes::deeper_than(&ast.root, MAX_TREE_DEPTH) {
                issues.report(Location::NONE, grammar::TOO_DEEP);
                return Err(issues);
            }
            Ok(ast)
        }
        _ => {
            if issues.is_empty() {
                issues.report(Location::NONE, "Syntax error: unexpected failure");
            }
            Err(issues)
        }
    }
}
