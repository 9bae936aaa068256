//! Nothing acknowledged is lost: kills, torn files, full disks, failing system calls.

mod homes;
mod kills;
mod migrations;
mod rot;
mod space;
mod steps;
mod syscalls;
mod torn_log;
