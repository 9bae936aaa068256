//! Limits as a Linux machine shows them.

use super::LocksLimit;

const FREE: &str = "\
Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max file locks            unlimited            unlimited            locks     
Max pending signals       96365                96365                signals   
";

fn locks(hard: &str) -> Option<LocksLimit> {
    LocksLimit::read(&format!(
        "Max file locks            5     {hard}     locks\n"
    ))
}

#[test]
fn the_hard_limit_is_read() {
    assert_eq!(LocksLimit::read(FREE), Some(LocksLimit(None)));
    assert_eq!(locks("1099511627776"), Some(LocksLimit(Some(1 << 40))));
    assert_eq!(locks("many"), None);
    assert_eq!(LocksLimit::read("Max cpu time  1  1  seconds\n"), None);
}

#[test]
fn a_lower_limit_than_the_daemons_is_the_mark() {
    let (none, high, low) = (
        LocksLimit(None),
        LocksLimit(Some(1 << 40)),
        LocksLimit(Some(7)),
    );
    for (process, daemon, marked) in [
        (none, none, false),
        (high, none, true),
        (low, none, true),
        // A daemon that was itself started below a shim.
        (high, high, false),
        (low, high, true),
        (none, high, false),
    ] {
        assert_eq!(process.is_marked(daemon), marked, "{process:?} {daemon:?}");
    }
    assert!(!LocksLimit(Some(0)).can_mark());
    assert!(low.can_mark() && none.can_mark());
}
