//! Clusters as programs use them.

mod maintenance;
mod shutdown;
mod start;
