//! Finding the groups we live in.

use super::*;

const MOUNTS: &str = "\
30 24 0:26 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
32 24 0:28 / /sys/fs/cgroup/pids rw shared:3 - cgroup cgroup rw,pids
";

#[test]
fn both_generations_are_found() {
    let groups = "9:pids:/user/me\n1:cpu:/\n0::/user.slice/me\n";
    let found = cgroup_folders(groups, MOUNTS);
    assert_eq!(
        found,
        [
            PathBuf::from("/sys/fs/cgroup/pids/user/me"),
            PathBuf::from("/sys/fs/cgroup/unified/user.slice/me"),
        ]
    );
}

#[test]
fn without_mounts_there_is_nothing() {
    assert!(cgroup_folders("0::/\n", "").is_empty());
    assert!(cgroup_folders("", MOUNTS).is_empty());
    assert!(cgroup_folders("garbage", MOUNTS).is_empty());
}
