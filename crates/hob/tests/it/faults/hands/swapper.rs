//! Fault 71, continuously: another program exchanges a script all the time while a person approves
//! it again and again. The run gets the bytes that were shown, or nothing.

use super::court::{Court, answer, obedient};
use super::tools::LEVELS;
use hob_sim::Sim;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Approvals at each level and for each way to exchange a file.
const TRIES: usize = 12;
const GOOD: &str = "echo harmless > good\n";
const EVIL: &str = "echo OTHER-BYTES; touch ran\n";

/// How the swapper puts other bytes in place.
#[derive(Clone, Copy, Debug)]
enum Exchange {
    Rename,
    Write,
}

/// Approvals that were given while the script was exchanged; how often other bytes ran.
pub(super) fn swapped_scripts() -> (usize, usize) {
    let sim = Sim::start(obedient);
    let (mut approvals, mut ran) = (0, 0);
    for level in LEVELS {
        for exchange in [Exchange::Rename, Exchange::Write] {
            let mut court = Court::open_at(&sim, level);
            let script = court.workspace.join("x.sh");
            fs::write(&script, GOOD).expect("a script");
            let swapper = Swapper::start(&court.workspace, exchange);
            for _ in 0..TRIES {
                let shown = approve_unless_evil(&mut court);
                approvals += usize::from(shown);
                ran += usize::from(court.has("ran"));
                let _ = fs::remove_file(court.workspace.join("ran"));
            }
            swapper.stop();
            fs::write(&script, GOOD).expect("a script");
            assert!(approve_unless_evil(&mut court), "control: it is shown");
            assert!(court.has("good"), "control, {level}: it runs");
        }
    }
    (approvals, ran)
}

/// Has the model run the script; says yes unless the question shows the other bytes. Whether the
/// answer was yes.
fn approve_unless_evil(court: &mut Court) -> bool {
    let calls: Value = json!([("exec", json!({ "command": "bash x.sh" }))]);
    let run = court.begin(&json!({}), &calls.to_string());
    let question = court.question(&run);
    let preview = question["preview"].as_str().unwrap_or_default();
    let is_good = preview.contains("harmless") && !preview.contains("OTHER-BYTES");
    answer(&mut court.hand, &question, is_good);
    court.ended(&run);
    is_good
}

/// A program of the person's that exchanges the script until it is stopped.
struct Swapper {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Swapper {
    fn start(workspace: &Path, exchange: Exchange) -> Swapper {
        let stop = Arc::new(AtomicBool::new(false));
        let (is_stopped, folder) = (Arc::clone(&stop), workspace.to_owned());
        let thread = std::thread::spawn(move || {
            let (script, draft) = (folder.join("x.sh"), folder.join("draft"));
            while !is_stopped.load(Ordering::Relaxed) {
                for bytes in [EVIL, GOOD] {
                    // It may meet a mount or a folder in the making; then it tries again.
                    let _ = match exchange {
                        Exchange::Rename => {
                            fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, &script))
                        }
                        Exchange::Write => fs::write(&script, bytes),
                    };
                    std::thread::sleep(Duration::from_millis(3));
                }
            }
        });
        Swapper { stop, thread }
    }

    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("it ends");
    }
}
