//! Requests: the parsed path , the options of each verb  and the context .

mod context;
mod info;
pub(crate) mod options;
pub(crate) mod query;

pub use context::{Annotations, RequestContext, UserInfo, Warnings};
pub use info::{RequestInfo, Verb};
pub use options::{
    DeleteOptions, FieldValidation, GetOptions, ListOptions, Match, WriteKind, WriteOptions,
};
pub use query::Query;
