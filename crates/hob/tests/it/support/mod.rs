//! What every test of the binary stands on: a house in a temporary home, and terminals.

mod house;
mod pane;
mod random_kills;
mod tty;

pub(crate) use house::{House, HouseBuilder, hob_path, wait_until};
pub(crate) use pane::Pane;
pub(crate) use random_kills::RandomKills;
pub(crate) use tty::Tty;
