//! Runs under faults: killed daemons, poison, models and networks that misbehave. The model is the
//! scripted server and the tools are the test's own, so the test knows what truly happened.

mod bounds;
mod cuts;
mod effects;
pub(super) mod house;
mod killed_runs;
mod many;
mod person;
mod poison;
mod providers;
mod reconnect;
mod stopped_runs;
mod verdict;
mod workshop;
