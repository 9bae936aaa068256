//! Protects the memory of this process from other programs. It holds the owner's token and provider
//! keys.
//!
//! A process that is not dumpable writes no core dump, and other processes of the same user cannot
//! open its `/proc/PID/mem`, `environ` and `fd` or trace it. The flag ends with `exec`, so children
//! are unaffected. The shim must write to its own `/proc/self/uid_map`, so it is never marked.
//! Debuggers and `strace` can attach only as root.

/// Marks this process as not dumpable. On systems without that flag it only disables core dumps.
pub(crate) fn protect() {
    no_core_dumps();
    #[cfg(target_os = "linux")]
    not_dumpable();
}

/// Sets the soft limit of core dumps to zero. The hard limit stays, so that a program in a shared
/// terminal can enable core dumps for itself.
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
