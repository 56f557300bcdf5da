//! What a request asks: where it points ([`info`]), with which options ([`options`]), on whose behalf ([`context`]).

pub mod context;
pub mod info;
pub mod options;
pub mod query;

pub use context::{RequestContext, UserInfo, Warnings};
pub use info::{RequestInfo, Verb};
pub use options::{DeleteOptions, GetOptions, ListOptions, Propagation, WriteOptions};
