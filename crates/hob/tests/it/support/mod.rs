//! What every test of the binary stands on: a house in a temporary home.

mod house;

pub(crate) use house::{House, wait_until};
