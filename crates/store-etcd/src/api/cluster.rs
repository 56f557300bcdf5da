//! Leases, authentication, and the status of a member.

use super::{
    Header, Malformed, Message,
    wire::{Value, Writer},
};

/// The response to a lease request.
#[derive(Debug, Default)]
pub(crate) struct LeaseGranted {
    pub(crate) id: i64,
}

/// The response to a login.
#[derive(Debug, Default)]
pub(crate) struct Token(pub(crate) String);

/// The status of a member.
#[derive(Debug, Default)]
pub(crate) struct MemberStatus {
    pub(crate) header: Header,
    pub(crate) version: String,
    /// Alarms, in Go's text form.
    pub(crate) errors: Vec<String>,
}

/// Returns the request for a lease of some seconds.
pub(crate) fn lease_grant_request(seconds: i64) -> Vec<u8> {
    Writer::default().number(1, seconds).finish()
}

/// Returns the login request.
pub(crate) fn authenticate_request(name: &str, password: &str) -> Vec<u8> {
    Writer::default()
        .bytes(1, name.as_bytes())
        .bytes(2, password.as_bytes())
        .finish()
}

impl Message for LeaseGranted {
    fn set(&mut self, field: u32, value: Value) -> Result<(), Malformed> {
        if field == 2 {
            self.id = value.number()?;
        }
        Ok(())
    }
}

impl Message for Token {
    fn set(&mut self, field: u32, value: Value) -> Result<(), Malformed> {
        if field == 2 {
            self.0 = value.text()?;
        }
        Ok(())
    }
}

impl Message for MemberStatus {
    fn set(&mut self, field: u32, value: Value) -> Result<(), Malformed> {
        match field {
            1 => self.header = Header::read(value.bytes()?)?,
            2 => self.version = value.text()?,
            8 => self.errors.push(value.text()?),
            _ => {}
        }
        Ok(())
    }
}
