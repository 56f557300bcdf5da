//! Clusters as programs use them.

mod data_dir;
mod maintenance;
#[cfg(unix)]
mod secret_file;
mod service_accounts;
mod shutdown;
mod start;
