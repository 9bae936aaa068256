//! The command line as a person and a script meet it.

mod commands;
mod help;
mod lifecycle;
mod offline;
mod output;
mod sessions;
