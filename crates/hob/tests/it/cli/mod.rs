//! The command line as a person and a script meet it.

mod autostart;
mod command_lines;
mod commands;
mod help;
mod latest;
mod lifecycle;
mod offline;
mod output;
mod rules;
mod sessions;
mod settings;
