//! The places where a project names its parts: modules, and the body of `register`.

use crate::{Error, plan::Plan, rust_text};

const LIB: &str = "src/lib.rs";

/// Registers something: a line at the end of `register` in `lib.rs`. If the function is gone, the user gets the line.
pub(crate) fn register(plan: &mut Plan, line: &str) -> Result<(), Error> {
    let source = plan.read(LIB)?.unwrap_or_default();
    if source.lines().any(|existing| existing.trim() == line) {
        return Ok(());
    }
    match rust_text::append_to_fn(&source, "register", line) {
        Some(edited) => plan.set(LIB, Some(edited)),
        None => {
            let place = "in the function that registers the parts of the operator";
            plan.leave_to_user(LIB, place, vec![line.to_owned()]);
            Ok(())
        }
    }
}

/// Takes a registration back. If the line is gone, there is nothing to do.
pub(super) fn unregister(plan: &mut Plan, line: &str) -> Result<(), Error> {
    remove_lines(plan, LIB, &[line])
}

/// Declares a module in a file, which is made from a text if there is none.
pub(crate) fn declare(
    plan: &mut Plan,
    path: &str,
    module: &str,
    otherwise: &str,
) -> Result<(), Error> {
    let source = plan.read(path)?.unwrap_or_else(|| otherwise.to_owned());
    plan.set(path, Some(rust_text::declare_module(&source, module)))
}

/// Has a file re-export a kind's types.
pub(super) fn reexport(plan: &mut Plan, path: &str, line: &str) -> Result<(), Error> {
    let source = plan.read(path)?.unwrap_or_default();
    if source.lines().any(|existing| existing.trim() == line) {
        return Ok(());
    }
    let edited = match source
        .lines()
        .any(|existing| existing.starts_with("pub use "))
    {
        true => rust_text::insert_among(&source, &["pub use "], line),
        false => format!("{source}\n{line}\n"),
    };
    plan.set(path, Some(edited))
}

/// Removes lines from a file, those that are there.
pub(super) fn remove_lines(plan: &mut Plan, path: &str, lines: &[&str]) -> Result<(), Error> {
    let Some(mut source) = plan.read(path)? else {
        return Ok(());
    };
    for line in lines {
        if let Some(edited) = rust_text::remove_line(&source, line) {
            source = edited;
        }
    }
    plan.set(path, Some(source))
}
