//! The methods and events of each built-in service, one file per room.

pub mod agent;
pub mod audit;
pub mod chat;
pub mod config;
pub mod cost;
pub mod cron;
pub mod daemon;
pub mod desktop;
pub mod gateway;
pub mod log;
pub mod loops;
pub mod model;
pub mod model_files;
pub mod onboard;
pub mod permission;
pub mod service;
pub mod session;
pub mod speech;
pub mod terminal;
pub mod timeline;
pub mod token;
pub mod tool;
