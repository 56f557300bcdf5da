//! The lines with which a project names its parts: module declarations and the body of `register`.

use crate::{Error, plan::Plan, rust_text};

const LIB: &str = "src/lib.rs";

/// Adds a line at the end of `register` in `lib.rs`. If the function does not exist, the line is left to the user.
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

/// Removes a registration. Does nothing if the line does not exist.
pub(super) fn unregister(plan: &mut Plan, line: &str) -> Result<(), Error> {
    remove_lines(plan, LIB, &[line])
}

/// Declares a module in a file, creating the file with `text` if it does not exist.
pub(crate) fn declare(
    plan: &mut Plan,
    path: &str,
    module: &str,
    otherwise: &str,
) -> Result<(), Error> {
    let source = plan.read(path)?.unwrap_or_else(|| otherwise.to_owned());
    plan.set(path, Some(rust_text::declare_module(&source, module)))
}

/// Adds the re-export of a kind's types to a file.
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

/// Removes lines from a file, as far as they exist.
pub(super) fn remove_lines(plan: &mut Plan, path: &str, lines: &[&str]) -> Result<(), Error> {
    let Some(mut source) = plan.read(path)? else {
        return Ok(());
    };
    for line in lines {
        if let Some(edited) = rust_text::remove_line(&source, line) {
            source = edited;
        }
    }
    // The blank line before the first item goes with the last one.
    while source.ends_with("\n\n") {
        source.pop();
    }
    plan.set(path, Some(source))
}
