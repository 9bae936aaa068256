//! `agent.*` through the bus, over real SQLite, against the scripted model server.

mod answers;
mod bench;
mod blocks;
mod chat;
mod commands;
mod control;
mod demo;
mod family;
mod files;
pub(crate) mod house;
mod long_sessions;
mod lost_parts;
pub(crate) mod resume;
mod services;
mod steering;
mod stops;
mod timelines;
mod tools;
mod trouble;
