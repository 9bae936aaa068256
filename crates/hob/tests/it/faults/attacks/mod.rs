//! Attacks on the gateway: browsers, guessers, forgers and neighbours.

mod binding;
mod children;
mod dialects;
mod guesses;
mod heads;
mod hooks;
mod hosts;
mod memory;
mod neighbours;
mod origins;
mod pages;
mod scopes;
mod servers;
mod sockets;

pub(crate) use neighbours::as_nobody;
