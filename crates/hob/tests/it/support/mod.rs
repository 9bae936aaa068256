//! What every test of the binary stands on: a house in a temporary home, and a terminal.

mod house;
mod tty;

pub(crate) use house::{House, wait_until};
pub(crate) use tty::Tty;
