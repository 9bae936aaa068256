//! What every test of the binary stands on: a house in a temporary home.

mod house;

pub(crate) use house::{Finished, House, HouseBuilder, wait_until};
