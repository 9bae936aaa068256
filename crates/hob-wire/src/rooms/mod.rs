//! The methods and events of each service, one file a room.

pub mod config;
pub mod daemon;
pub mod gateway;
pub mod log;
pub mod session;
pub mod token;
