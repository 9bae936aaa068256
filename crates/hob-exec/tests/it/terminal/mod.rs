//! Real shells in a real tmux: what is typed, what is told by marks, what is recorded.

mod bash;
mod keys;
mod life;
mod rig;
mod shells;
mod windows;
