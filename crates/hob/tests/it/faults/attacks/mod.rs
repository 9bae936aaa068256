//! Attacks on the gateway: browsers, guessers, forgers and neighbours.

mod binding;
mod children;
mod guesses;
mod hosts;
mod neighbours;
mod origins;
mod pages;
mod scopes;
