//! Nothing acknowledged is lost: kills, torn files, full disks, failing system calls.

mod failing_disk;
mod homes;
mod kills;
mod marks;
mod migrations;
mod restored_files;
mod rot;
mod space;
mod steps;
mod syscalls;
mod torn_log;
