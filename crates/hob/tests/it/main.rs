//! The whole product from outside: the built binary, its sockets, its files, its exit codes.

#[cfg(test)]
mod agentloop;
#[cfg(test)]
mod archy;
#[cfg(test)]
mod blocks;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod client;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod cron;
#[cfg(test)]
mod docs;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod house;
#[cfg(test)]
mod import;
#[cfg(test)]
mod local;
#[cfg(test)]
mod looprunner;
#[cfg(test)]
mod loops;
#[cfg(test)]
mod mind;
#[cfg(test)]
mod model_files;
#[cfg(test)]
mod newcomer;
#[cfg(test)]
mod old_home;
#[cfg(test)]
mod openai;
#[cfg(test)]
mod opencode;
#[cfg(test)]
mod pryx;
#[cfg(test)]
mod readme;
#[cfg(test)]
mod services;
#[cfg(test)]
mod speech;
#[cfg(test)]
mod support;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod tui;
#[cfg(test)]
mod vargos;
