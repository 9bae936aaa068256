//! Compares the terminal screen with a real tmux.

#[cfg(test)]
mod mirror;
