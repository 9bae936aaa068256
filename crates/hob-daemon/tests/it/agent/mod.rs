//! `agent.*` through the bus, over real SQLite, against the scripted model server.

mod answers;
mod bench;
mod house;
mod tools;
