//! Responses: content negotiation and the forms of an object.

pub(crate) mod compress;
pub(crate) mod encode;
mod fields;
mod frames;
pub(crate) mod list;
pub(crate) mod negotiate;
pub(crate) mod object;
mod pretty;
pub(crate) mod scan;
pub(crate) mod table;
pub(crate) mod watch;

pub(crate) use encode::status_answer;
pub use encode::status_response;
pub use fields::Fields;
pub(crate) use frames::FrameCache;
pub use negotiate::Accepted;
pub(crate) use negotiate::Media;
