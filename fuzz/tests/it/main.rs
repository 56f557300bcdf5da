//! The inputs of the corpora, and the classes of known vulnerabilities, against the whole server.

mod corpus;
mod vulnerabilities;
