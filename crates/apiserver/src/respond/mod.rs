//! Responses: content negotiation and the forms of an object.

pub(crate) mod compress;
pub(crate) mod encode;
pub(crate) mod list;
pub(crate) mod negotiate;
pub(crate) mod object;
pub(crate) mod table;
pub(crate) mod watch;

pub use encode::status_response;
pub use negotiate::Accepted;
pub(crate) use negotiate::Media;
