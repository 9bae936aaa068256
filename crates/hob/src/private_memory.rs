//! Keeps the memory of this process from other programs: it holds the owner's token and the keys of
//! providers.
//!
//! Not dumpable means: no core dump, whatever the system does with those, and to other processes of
//! the same user `/proc/PID/mem`, `environ`, `fd` and tracing are closed. The mark ends with `exec`,
//! so children are as they always were; the shim, which must write to its own `/proc/self/uid_map`,
//! is never marked. Debuggers and `strace` of an ordinary user cannot attach either; root's can.

/// Marks this process. Where the system has no such mark, core dumps alone are turned off.
pub(crate) fn protect() {
    // Fault test 81: memory that can be read must be noticed.
    if hob_kit::failpoint::broken(81) {
        return;
    }
    no_core_dumps();
    #[cfg(target_os = "linux")]
    not_dumpable();
}

/// The hard limit stays: a program in a shared terminal may turn core dumps on for itself.
fn no_core_dumps() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Core);
    limit.current = Some(0);
    // Lowering one's own limit is always allowed.
    let _ = setrlimit(Resource::Core, limit);
}

#[cfg(target_os = "linux")]
fn not_dumpable() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // The kernel refuses only values that it does not know.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
