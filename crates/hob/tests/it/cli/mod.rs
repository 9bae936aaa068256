//! The command line as a person and a script meet it.

mod command_lines;
mod commands;
mod help;
mod lifecycle;
mod offline;
mod output;
mod rules;
mod sessions;
