//! The system call filter of sandboxed programs. It refuses calls that lead out of a sandbox or
//! into parts of the kernel that no command needs. The shim loads it under Landlock and passes it
//! to bubblewrap otherwise.
//!
//! Invariants: the x32 numbering of calls cannot bypass the filter; sockets are an allow list.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};
use std::collections::BTreeMap;
use std::io;

/// The sockets that a program may create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AllowedSockets {
    /// Internet sockets: granted, or harmless in a network namespace without exit.
    pub(super) internet: bool,
    pub(super) unix: bool,
}

/// Calls refused with `EPERM`.
const FORBIDDEN: &[libc::c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    // Keys, programs in the kernel, counters.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // The machine.
    libc::SYS_acct,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_vhangup,
];

/// Calls refused with `ENOSYS`, so that programs fall back to others: `clone3` hides its flags from
/// filters, `io_uring` works around them.
const REFUSED_AS_UNKNOWN: &[libc::c_long] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
];

const NAMESPACE_FLAGS: &[libc::c_int] = &[
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// Returns the filters, all of which must be loaded.
pub(super) fn filters(sockets: AllowedSockets) -> io::Result<Vec<BpfProgram>> {
    let mut forbidden: BTreeMap<i64, Vec<SeccompRule>> =
        FORBIDDEN.iter().map(|call| (*call, Vec::new())).collect();
    forbidden.insert(libc::SYS_clone, namespace_rules()?);
    forbidden.insert(libc::SYS_socket, socket_family_rules(sockets)?);
    if !sockets.unix {
        forbidden.insert(libc::SYS_socketpair, socketpair_rules()?);
    }
    let unknown = REFUSED_AS_UNKNOWN
        .iter()
        .map(|call| (*call, Vec::new()))
        .collect();
    // A filter has one error number for all its rules, so there is one for each number.
    Ok(vec![
        compile_filter(forbidden, libc::EPERM)?,
        compile_filter(unknown, libc::ENOSYS)?,
    ])
}

/// Encodes a filter as bubblewrap reads it.
pub(super) fn filter_bytes(program: &BpfProgram) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(program.len() * size_of::<sock_filter>());
    for step in program {
        bytes.extend(step.code.to_ne_bytes());
        bytes.extend([step.jt, step.jf]);
        bytes.extend(step.k.to_ne_bytes());
    }
    bytes
}

fn compile_filter(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> io::Result<BpfProgram> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let errno = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, errno, arch);
    let program: BpfProgram = filter
        .and_then(TryInto::try_into)
        .map_err(io::Error::other)?;
    Ok(refuse_x32(program))
}

/// Refuses all x32 calls on `x86_64`. The kernel may accept the same calls under numbers with one
/// more bit, which the rules above do not match.
fn refuse_x32(program: BpfProgram) -> BpfProgram {
    const X32_BIT: u32 = 0x4000_0000;
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_GREATER_EQUAL: u16 = 0x35;
    const RETURN: u16 = 0x06;
    if cfg!(not(target_arch = "x86_64")) {
        return program;
    }
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let refusal = u32::from(SeccompAction::Errno(libc::ENOSYS.unsigned_abs()));
    let mut whole = vec![
        // The call's number is the first field of `seccomp_data`.
        step(LOAD_WORD, 0, 0, 0),
        step(JUMP_IF_GREATER_EQUAL, 0, 1, X32_BIT),
        step(RETURN, 0, 0, refusal),
    ];
    whole.extend(program);
    whole
}

fn namespace_rules() -> io::Result<Vec<SeccompRule>> {
    let with = |flag: &libc::c_int| {
        let flag = u64::from(flag.unsigned_abs());
        rule(vec![condition(0, SeccompCmpOp::MaskedEq(flag), flag)?])
    };
    NAMESPACE_FLAGS.iter().map(with).collect()
}

/// Rules that match every socket family that is not granted, and every netlink protocol except the
/// one that lists addresses.
fn socket_family_rules(sockets: AllowedSockets) -> io::Result<Vec<SeccompRule>> {
    let mut granted = Vec::new();
    if sockets.internet {
        granted.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    if sockets.unix {
        granted.push(libc::AF_UNIX);
    }
    // A call without rules is refused in all cases.
    if granted.is_empty() {
        return Ok(Vec::new());
    }
    let others = granted
        .iter()
        .map(|family| condition(0, SeccompCmpOp::Ne, number(*family)))
        .collect::<io::Result<Vec<_>>>()?;
    let netlink = vec![
        condition(0, SeccompCmpOp::Eq, number(libc::AF_NETLINK))?,
        condition(2, SeccompCmpOp::Ne, number(libc::NETLINK_ROUTE))?,
    ];
    Ok(vec![rule(others)?, rule(netlink)?])
}

/// Rules that match every socket pair except the connected kinds. Pairs connect a program with its
/// own children, and neither a stream nor a sequential-packet socket can be connected to another
/// socket afterwards. A datagram socket can, and the kernel treats `SOCK_RAW` as one, so everything
/// that is not listed is refused.
fn socketpair_rules() -> io::Result<Vec<SeccompRule>> {
    const KINDS: [libc::c_int; 2] = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
    const FLAGS: [libc::c_int; 4] = [
        0,
        libc::SOCK_CLOEXEC,
        libc::SOCK_NONBLOCK,
        libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
    ];
    let allowed = KINDS
        .iter()
        .flat_map(|kind| FLAGS.iter().map(move |flags| kind | flags));
    let others = allowed
        .map(|kind| condition(1, SeccompCmpOp::Ne, number(kind)))
        .collect::<io::Result<Vec<_>>>()?;
    Ok(vec![
        rule(vec![condition(0, SeccompCmpOp::Ne, number(libc::AF_UNIX))?])?,
        rule(others)?,
    ])
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> io::Result<SeccompCondition> {
    // The kernel reads the low 32 bits only. A comparison of all 64 could be evaded by bits above
    // them.
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
        .map_err(io::Error::other)
}

fn rule(conditions: Vec<SeccompCondition>) -> io::Result<SeccompRule> {
    SeccompRule::new(conditions).map_err(io::Error::other)
}

fn number(value: libc::c_int) -> u64 {
    u64::from(value.unsigned_abs())
}

#[cfg(test)]
#[path = "seccomp_tests.rs"]
mod tests;
