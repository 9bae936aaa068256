//! The hands under attack: what tools may open, change, run and reach, and what they may not. Each
//! attack has its positive control: the same act inside what is allowed works.

mod answers;
mod borrowed;
mod bounds;
mod canaries;
mod court;
mod deputies;
mod ear;
mod network;
mod outsider;
mod paths;
mod persistence;
mod planted;
mod privilege;
mod protected;
mod proxied;
mod races;
mod secrets;
mod swapper;
mod swaps;
pub(super) mod tools;
mod web;
