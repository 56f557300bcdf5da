//! An operator from outside: how it converts.

mod conversion;
