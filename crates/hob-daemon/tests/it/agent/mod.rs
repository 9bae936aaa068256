//! `agent.*` through the bus, over real SQLite, against the scripted model server.

mod answers;
mod bench;
mod chat;
mod commands;
mod control;
mod family;
mod files;
pub(crate) mod house;
mod long_sessions;
pub(crate) mod resume;
mod services;
mod tools;
mod trouble;
