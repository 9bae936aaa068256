//! The yardsticks: the same work with no crate of ours.

pub(crate) mod answerer;
pub(crate) mod program;
pub(crate) mod relay;
pub(crate) mod sqlite;
pub(crate) mod tmux;
pub(crate) mod turns;
pub(crate) mod typist;
