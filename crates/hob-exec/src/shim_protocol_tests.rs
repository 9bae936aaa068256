//! Messages survive the way there and back, and nothing long is believed.

use super::*;

#[test]
fn a_message_comes_back_as_it_was() {
    let ending = ExitReport {
        ended: WaitStatus::Signal(9),
        cause: ExitCause::Deadline,
        usage: ResourceUsage {
            cpu_user_ms: 3,
            cpu_system_ms: 4,
            peak_bytes: 5,
        },
        left_behind: LeftBehind::default(),
    };
    let bytes = encode(&ending).expect("short");
    let back: ExitReport = read_message(&mut bytes.as_slice()).expect("whole");
    assert_eq!(back, ending);
    let cut = read_message::<ExitReport>(&mut &bytes[..bytes.len() - 1]);
    assert!(cut.is_err());
}

#[test]
fn a_length_beyond_the_bound_is_refused_before_it_is_read() {
    let bytes = (MESSAGE_BYTES_MAX + 1).to_le_bytes();
    assert!(read_message::<ExitReport>(&mut bytes.as_slice()).is_err());
}

#[test]
fn a_signal_is_a_code_as_shells_say_it() {
    assert_eq!(WaitStatus::Signal(15).code(), 143);
    assert_eq!(WaitStatus::Code(7).code(), 7);
}
