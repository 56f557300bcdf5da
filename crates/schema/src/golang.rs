//! What Go's standard library does to texts on their way in and out, to the letter: it shows in stored objects and in
//! messages.

pub(crate) mod base64;
pub(crate) mod duration;
pub(crate) mod float;
pub(crate) mod quote;
pub(crate) mod time;
