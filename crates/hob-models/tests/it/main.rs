//! The clients against a scripted server that speaks the real protocols over real HTTP.

mod answers;
mod faults;
mod house;
mod keys;
