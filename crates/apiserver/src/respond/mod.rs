//! Answers: which form the client wants ([`negotiate`]), and each form.

pub(crate) mod compress;
pub mod encode;
pub mod list;
pub mod negotiate;
pub mod object;
pub mod table;
pub mod watch;

pub use encode::{status_response, value_response};
pub use negotiate::{Accepted, Media, Transform};
