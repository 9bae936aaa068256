//! Runs over real files: accepting, stepping, money, blobs, deletion, what a crash leaves.

mod accepting;
mod blobs;
mod crash;
mod deleting;
mod events;
mod listing;
mod money;
mod rig;
mod steps;
