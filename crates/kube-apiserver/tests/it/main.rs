//! The API server as its clients see it: every test starts a server and calls it in process or over a socket.

mod admission;
mod audit;
mod authentication;
mod bad_input;
mod bootstrap;
mod bounds;
mod client;
mod continue_tokens;
mod custom_resources;
mod cve;
mod exact_answers;
mod flow_control;
mod http_client;
mod indented;
mod odd_requests;
mod openapi;
mod plugins;
mod pod_security;
mod policies;
mod rbac;
mod requests;
mod resource_version_semantics;
mod rules;
mod verbs;
mod watch;
mod webhooks;
