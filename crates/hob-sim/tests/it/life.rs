//! What a test asks the server about: requests, open and cut streams, gates, stamps, its end.

use crate::reader::{events, told};
use crate::wire::{ask, begin, hear, hear_until, parse, until};
use hob_sim::{Answer, Dialect, Fault, Gate, Sim};
use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

#[test]
fn a_client_that_hangs_up_is_counted() {
    for fault in [
        Fault::Silence { headers: false },
        Fault::Silence { headers: true },
        Fault::StallAfter(2),
        Fault::Endless,
    ] {
        let scripted = fault.clone();
        let sim = Sim::start(move |_| Answer::words("one two three").fault(scripted.clone()));
        let streams: Vec<TcpStream> = Dialect::ALL.map(|dialect| begin(&sim, dialect)).into();
        until("four open", || {
            sim.asked_count() == 4 && sim.open_streams() == 4
        });
        assert_eq!(sim.cut_streams(), 0);
        drop(streams);
        until("four cut", || {
            sim.cut_streams() == 4 && sim.open_streams() == 0
        });
    }
}

#[test]
fn an_answer_heard_to_its_end_is_not_cut() {
    let sim = Sim::start(|_| Answer::words("one two three"));
    for dialect in Dialect::ALL {
        assert!(ask(&sim, dialect, true).whole);
        assert!(ask(&sim, dialect, false).whole);
    }
    until("none open", || sim.open_streams() == 0);
    assert_eq!(sim.cut_streams(), 0);
    assert_eq!(sim.asked_count(), 8);
}

#[test]
fn a_gate_holds_the_whole_answer() {
    let gate = Gate::new();
    let held = gate.clone();
    let sim = Sim::start(move |_| Answer::words("at last").held(&held));
    let mut stream = begin(&sim, Dialect::Anthropic);
    until("it stands there", || gate.waiting() == 1);
    stream.set_nonblocking(true).expect("set");
    let read = stream.read(&mut [0; 8]).expect_err("nothing has come");
    assert_eq!(read.kind(), std::io::ErrorKind::WouldBlock);
    stream.set_nonblocking(false).expect("set");
    gate.open();
    let heard = hear(stream);
    let told = told(Dialect::Anthropic, &events(&heard.body));
    assert_eq!(told.words, "at last");
    assert_eq!(gate.waiting(), 0);
}

#[test]
fn a_gate_holds_the_middle_of_a_stream() {
    for dialect in Dialect::ALL {
        let gate = Gate::new();
        let held = gate.clone();
        let sim = Sim::start(move |_| Answer::words("one two three").held_after(2, &held));
        let mut stream = begin(&sim, dialect);
        let mut bytes = hear_until(&mut stream, "two");
        until("it stands there", || gate.waiting() == 1);
        assert!(!String::from_utf8_lossy(&bytes).contains("three"));
        gate.open();
        stream.read_to_end(&mut bytes).expect("the rest");
        let heard = parse(&bytes);
        assert_eq!(told(dialect, &events(&heard.body)).words, "one two three");
    }
}

#[test]
fn hanging_up_leaves_the_gate() {
    let gate = Gate::new();
    let held = gate.clone();
    let sim = Sim::start(move |_| Answer::words("never heard").held_after(1, &held));
    let stream = begin(&sim, Dialect::OpenaiChat);
    until("it stands there", || gate.waiting() == 1);
    drop(stream);
    until("it is gone", || {
        gate.waiting() == 0 && sim.cut_streams() == 1
    });
}

#[test]
fn no_token_comes_before_its_time() {
    let every = Duration::from_millis(20);
    let sim = Sim::start(move |_| Answer::stamps(21).pace(1, every));
    let begun_us = sim.now_us();
    let heard = ask(&sim, Dialect::OpenaiChat, true);
    let words = told(Dialect::OpenaiChat, &events(&heard.body)).words;
    let moments: Vec<u64> = words
        .split_whitespace()
        .map(|moment| moment.parse().expect("a moment"))
        .collect();
    assert_eq!(moments.len(), 21);
    assert!(moments.is_sorted());
    for (at, moment) in moments.iter().enumerate() {
        let due = begun_us + 20_000 * u64::try_from(at).expect("small");
        assert!(*moment >= due, "token {at} came at {moment}, due {due}");
    }
    assert!(*moments.last().expect("one") <= sim.now_us());
}

#[test]
fn tokens_may_share_a_write() {
    let sim = Sim::start(|_| Answer::tokens(10).pace(4, Duration::from_millis(5)));
    let mut stream = begin(&sim, Dialect::OpenaiChat);
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("read");
    let text = String::from_utf8(bytes.clone()).expect("UTF-8");
    // A chunk begins with its size in hex; a group of tokens is one chunk.
    let chunks = text
        .split("\r\n")
        .filter(|part| part.contains("\"content\":\"w"));
    let sizes: Vec<usize> = chunks
        .map(|chunk| chunk.matches("data: ").count())
        .collect();
    assert_eq!(sizes, [4, 4, 2]);
    let heard = parse(&bytes);
    let words = told(Dialect::OpenaiChat, &events(&heard.body)).words;
    assert_eq!(words.split_whitespace().count(), 10);
}

#[test]
fn fifty_streams_at_once() {
    let every = Duration::from_micros(500);
    let sim = Sim::start(move |_| Answer::tokens(400).pace(1, every));
    let streams: Vec<TcpStream> = (0..50).map(|_| begin(&sim, Dialect::OpenaiChat)).collect();
    let listeners: Vec<_> = streams
        .into_iter()
        .map(|stream| std::thread::spawn(move || hear(stream)))
        .collect();
    for listener in listeners {
        let heard = listener.join().expect("heard");
        let told = told(Dialect::OpenaiChat, &events(&heard.body));
        assert!(told.ended);
        assert_eq!(told.words.split_whitespace().count(), 400);
    }
    assert_eq!(sim.cut_streams(), 0);
}

#[test]
fn it_ends_with_its_value() {
    let gate = Gate::new();
    let held = gate.clone();
    let sim = Sim::start(move |_| Answer::words("x").held(&held));
    let address = sim.address();
    let stream = begin(&sim, Dialect::Gemini);
    until("it stands there", || gate.waiting() == 1);
    drop(sim);
    assert_eq!(gate.waiting(), 0);
    drop(stream);
    assert!(TcpStream::connect(address).is_err());
}
