//! Admission reviews: requests of a cluster, and responses.

mod decode;
mod parts;
mod request;
mod response;

pub(crate) use decode::{Decoded, decode, decode_parts, unparsable};
pub(crate) use parts::Parts;
pub use request::{AdmissionRequest, Operation, UserInfo};
pub use response::AdmissionResponse;
pub(crate) use response::encode;
