//! The rooms over a real bus and a real SQLite file: what a caller on the bus sees.

#[cfg(test)]
mod agent;
#[cfg(test)]
mod config;
#[cfg(test)]
mod cron;
#[cfg(test)]
mod daemon;
#[cfg(test)]
mod desktop;
#[cfg(test)]
mod docs;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod log;
#[cfg(test)]
mod loops;
#[cfg(test)]
mod models;
#[cfg(test)]
mod outside;
#[cfg(test)]
mod permissions;
#[cfg(test)]
mod scheduled_commands;
#[cfg(test)]
mod session_drafts;
#[cfg(test)]
mod session_forks;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod tools;
