//! Many clients at once.

use super::{Stage, ask, ended};
use crate::support::wait_until;
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

#[test]
fn ten_clients_work_while_another_waits_for_a_long_command() {
    let stage = Stage::new();
    let socket = &stage.socket;
    let gate = stage.house.work().join("gate");
    let long = format!(
        "echo waiting; while [ ! -e '{}' ]; do sleep 0.1; done; echo through; (exit 7)",
        gate.display()
    );
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let data = json!({ "command": long, "session": "slow", "max_wait": 170 });
            ask(socket, "execute_and_wait", data)
        });
        wait_until("the long command runs", || {
            let answer = ask(socket, "capture", json!({ "session": "slow" }));
            let shown = answer["output"].as_str().unwrap_or_default();
            shown.contains("\nwaiting\n")
        });
        let work = |worker: i64| {
            for round in 0..5 {
                let command = format!("echo {worker}-{round}; (exit {worker})");
                let data = json!({ "command": command, "session": format!("worker-{worker}") });
                let answer = ask(socket, "execute_and_wait", data);
                let expected = (worker, format!("{worker}-{round}\n"));
                assert_eq!(ended(&answer), expected, "{answer}");
            }
        };
        let workers: Vec<_> = (0..10)
            .map(|worker| scope.spawn(move || work(worker)))
            .collect();
        for worker in workers {
            worker.join().expect("its commands end as they should");
        }
        assert!(!waiting.is_finished(), "the long command still runs");
        std::fs::write(&gate, "").expect("the gate opens");
        let answer = waiting.join().expect("an answer");
        assert_eq!(ended(&answer), (7, "waiting\nthrough\n".to_owned()));
    });
}

/// Commands of many clients for one session run one after the other, each with its own end.
#[test]
fn clients_of_one_session_take_turns() {
    let stage = Stage::new();
    std::thread::scope(|scope| {
        for client in 0..10_i64 {
            let socket = &stage.socket;
            scope.spawn(move || {
                for round in 0..5 {
                    let command = format!("echo c{client}r{round}; (exit {client})");
                    let answer = ask(socket, "execute_and_wait", json!({ "command": command }));
                    let expected = (client, format!("c{client}r{round}\n"));
                    assert_eq!(ended(&answer), expected, "{answer}");
                }
            });
        }
    });
}

#[test]
fn one_connection_carries_many_requests() {
    let stage = Stage::new();
    let mut stream = UnixStream::connect(&stage.socket).expect("it is open");
    stream
        .set_read_timeout(Some(super::DEADLINE))
        .expect("a socket");
    let mut lines = BufReader::new(stream.try_clone().expect("a socket")).lines();
    for round in 0..20_i64 {
        let data = json!({ "command": format!("(exit {round})") });
        let request = json!({ "action": "execute_and_wait", "data": data, "keep": true });
        writeln!(stream, "{request}").expect("it is taken");
        let line = lines.next().expect("an answer").expect("a line");
        let answer = serde_json::from_str(&line).expect("JSON");
        assert_eq!(ended(&answer).0, round);
    }
}
