//! Admission reviews: the body that a cluster sends, and the body of the answer.

mod decode;
mod request;
mod response;

pub(crate) use decode::{Decoded, decode};
pub use request::{AdmissionRequest, Operation, UserInfo};
pub use response::AdmissionResponse;
pub(crate) use response::encode;
