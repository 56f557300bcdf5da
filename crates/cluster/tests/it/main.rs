//! Clusters as programs use them.

mod maintenance;
#[cfg(unix)]
mod secret_file;
mod shutdown;
mod start;
