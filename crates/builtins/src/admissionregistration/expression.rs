//! Expressions of webhooks and policies, which must compile.

use kubewright_cel::CompileError;
use kubewright_machinery::field::{self, ErrorList, FieldError, Path};

/// Adds the error of an expression that does not compile.
pub(crate) fn report<T>(
    compiled: Result<T, CompileError>,
    expression: &str,
    path: &Path,
    errors: &mut ErrorList,
) {
    errors.extend(
        compiled
            .err()
            .map(|error| rejected(error, expression, path)),
    );
}

/// Returns the error of an expression that does not compile.
pub(crate) fn rejected(error: CompileError, expression: &str, path: &Path) -> FieldError {
    match error {
        CompileError::Invalid(why) => field::invalid_str(path, expression, why),
        CompileError::Internal(why) => field::internal(path, why),
        CompileError::TooComplex => field::forbidden(path, error.to_string()),
    }
}
