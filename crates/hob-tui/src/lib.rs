//! The terminal user interface of hob: a client of the daemon, full screen.
//!
//! - [`actions`]: the table of named actions, and the keymap over it
//! - [`model`]: the pure state: `update(model, event) -> effects`
//! - [`transcript`], [`composer`], [`cards`], [`screens`]: its parts
//! - [`text`], [`markdown`], [`diff`], [`theme`]: text as it looks
//! - [`view`]: draws the model into cells
//! - [`driver`]: the terminal, the keys, the daemon, the frames
//!
//! Invariants: all text from outside passes one filter before it becomes a cell. The cost of a frame
//! depends on what is seen, not on the length of the conversation. After the start the screen is
//! never erased and the terminal is never asked anything. The terminal is as it was before, however
//! the program ends.

pub mod actions;
pub mod cards;
pub mod composer;
pub mod diff;
pub mod driver;
pub mod markdown;
pub mod model;
mod presets;
pub mod screens;
pub mod text;
pub mod theme;
pub mod transcript;
pub mod view;

pub use driver::{Host, Leave, TuiEnd, run};
