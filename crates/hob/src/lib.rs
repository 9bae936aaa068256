//! The binary's inside: the command table and the composition root.
//!
//! - [`house`] joins the rooms into a daemon
//! - [`settings`] has every key of the config file, from the crates that own them

pub mod house;
pub mod settings;
