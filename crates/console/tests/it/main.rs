//! The console by HTTP, as a browser or a foreign page would call it.

mod assets;
mod browser;
mod chromium;
mod export;
mod guard;
mod lab;
mod load;
mod operator;
mod pages;
mod requests;
mod scene;
mod secrets;
mod sessions;
mod streams;
mod tree;
