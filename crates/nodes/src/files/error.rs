//! [`FileError`]: the errors of a file system, with the messages of Linux.

/// An operation on files that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FileError {
    #[error("No such file or directory")]
    NotFound,
    #[error("Is a directory")]
    IsDirectory,
    #[error("Directory not empty")]
    NotEmpty,
    #[error("Not a directory")]
    NotDirectory,
    #[error("File exists")]
    Exists,
    #[error("Read-only file system")]
    ReadOnly,
    #[error("No space left on device")]
    NoSpace,
    #[error("Too many levels of symbolic links")]
    TooManyLinks,
    #[error("Device or resource busy")]
    Busy,
    #[error("Invalid argument")]
    Invalid,
}
