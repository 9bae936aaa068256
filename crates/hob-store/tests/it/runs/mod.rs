//! Runs over real files: accepting, stepping, families, money, blobs, deletion, what a crash leaves.

mod accepting;
mod blobs;
mod crash;
mod deleting;
mod events;
mod families;
mod listing;
mod money;
pub(crate) mod rig;
mod steps;
