//! The server as its clients see it: every test starts a cluster of its own and talks to it in process or over a socket.

mod bad_input;
mod clients;
mod continue_tokens;
mod custom_resources;
mod exact_answers;
mod http_client;
mod maintenance;
mod managers;
mod openapi;
mod perturbations;
mod requests;
mod resource_version_semantics;
mod verbs;
mod watch;
