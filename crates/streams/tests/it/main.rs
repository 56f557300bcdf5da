//! Streams over the protocols of Kubernetes, with minimal clients and with client-go.

mod commands;
mod exec_spdy;
mod exec_websocket;
mod go_clients;
mod messages;
mod port_forward;
mod spdy_client;
mod websocket_client;
