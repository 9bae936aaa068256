//! Wakers are woken in their order, none before its moment.

use super::{Pacer, PacerThread};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

struct Noted {
    at: Instant,
    name: u32,
    log: Arc<Mutex<Vec<(u32, bool)>>>,
}

impl Wake for Noted {
    fn wake(self: Arc<Self>) {
        let early = Instant::now() < self.at;
        self.log.lock().expect("sound").push((self.name, early));
    }
}

#[test]
fn the_sooner_is_woken_first_and_none_too_soon() {
    let pacer = Arc::new(Pacer::default());
    let thread = PacerThread::start(&pacer).expect("started");
    let log = Arc::new(Mutex::new(Vec::new()));
    let begun = Instant::now();
    for (name, after_ms) in [(3, 60), (1, 20), (2, 40)] {
        let at = begun + Duration::from_millis(after_ms);
        let log = Arc::clone(&log);
        let waker = Waker::from(Arc::new(Noted { at, name, log }));
        pacer.wake_at(at, waker);
    }
    while log.lock().expect("sound").len() < 3 {
        assert!(begun.elapsed() < Duration::from_secs(30), "nobody is woken");
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(thread);
    let woken = log.lock().expect("sound").clone();
    assert_eq!(woken, [(1, false), (2, false), (3, false)]);
}
