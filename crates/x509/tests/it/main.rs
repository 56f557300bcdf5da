//! Requests of OpenSSL, and certificates issued for them.

mod issuing;
mod requests;

/// A file of the folder `fixtures`. The requests and the keys were made by OpenSSL, for these tests alone.
macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("fixtures/", $name))
    };
}
use fixture;
