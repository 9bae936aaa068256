//! The hands under attack: what tools may open, change, run and reach, and what they may not. Each
//! attack has its positive control: the same act inside what is allowed works.

mod bounds;
mod network;
mod paths;
mod privilege;
mod protected;
mod races;
mod tools;
mod web;
