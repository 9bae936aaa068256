//! The programs under `examples/`, run as their readers would run them.

use crate::mind::house_with;
use crate::support::{House, wait_until};
use hob_sim::{Answer, Sim};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A running example, ended with its test.
struct Example(Child);

impl Example {
    /// Starts it in the house and waits until it says that it is on the bus.
    fn start(house: &House, mut command: Command, token: Option<&str>) -> Example {
        command.env("HOB_HOME", house.home());
        if let Some(token) = token {
            command.env("HOB_TOKEN", token);
        }
        let child = command.stdout(Stdio::piped()).spawn();
        let mut example = Example(child.expect("the example starts"));
        let stdout = example.0.stdout.take().expect("piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("text");
        assert_eq!(line, "weather is on the bus\n");
        example
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ask(house: &House) -> Option<Value> {
    let finished = house.hob(&["--json", "rpc", "weather.now", r#"{"place": "Bath"}"#]);
    (finished.code == Some(0)).then(|| serde_json::from_str(&finished.stdout).expect("JSON"))
}

/// Its method answers, its event is logged.
fn is_on_the_bus(house: &House) {
    let expected = json!({ "place": "Bath", "degrees": 21 });
    assert_eq!(ask(house), Some(expected));
    let line = [
        "--json",
        "events",
        "weather.asked",
        "--since",
        "0",
        "-n",
        "1",
    ];
    let event: Value = serde_json::from_str(&house.hob(&line).success()).expect("one event");
    assert_eq!(
        (&event["source"], &event["payload"]["place"]),
        (&json!("weather"), &json!("Bath"))
    );
}

fn service_token(house: &House) -> String {
    let line = [
        "token",
        "create",
        "--name",
        "weather",
        "--scope",
        "service:weather",
    ];
    house.hob(&line).success().trim().to_owned()
}

#[test]
fn the_python_service_needs_forty_lines_and_no_library() {
    let script = root().join("examples/weather.py");
    let text = std::fs::read_to_string(&script).expect("the example is there");
    assert!(text.lines().count() <= 40);
    let house = House::start();
    let token = service_token(&house);
    for token in [None, Some(token.as_str())] {
        let mut python = house.command_of("python3", &[]);
        if python.arg("--version").output().is_err() {
            return not_run("needs python3: apt-get install python3");
        }
        let mut python = house.command_of("python3", &[]);
        python.arg(&script);
        let example = Example::start(&house, python, token);
        is_on_the_bus(&house);
        drop(example);
        wait_until("its routes are gone", || ask(&house).is_none());
    }
}

#[test]
fn forty_lines_of_python_follow_a_session() {
    let script = root().join("examples/follow.py");
    let text = std::fs::read_to_string(&script).expect("the example is there");
    assert!(text.lines().count() <= 40);
    let sim = Sim::start(|asked| match asked.results_of_task().first() {
        _ if asked.last_user().contains("first") => {
            Answer::words("# One\n\n- a\n- \u{1f600}\n\nend\n")
        }
        None => Answer::words("Let me see.\n").call("time", json!({})),
        Some(_) => Answer::words("```\ncode\n\n```\nIt is **early**."),
    });
    let house = house_with(&sim);
    if house
        .command_of("python3", &["--version"])
        .output()
        .is_err()
    {
        return not_run("needs python3: apt-get install python3");
    }
    let first = house.hob(&["ask", "--session", "s", "the first"]).success();
    let output = house.home().join("followed");
    let mut python = house.command_of("python3", &[]);
    python.arg(&script).arg("s");
    python.stdout(std::fs::File::create(&output).expect("writable"));
    let _python = Example(python.spawn().expect("the example starts"));
    let followed = || std::fs::read_to_string(&output).expect("UTF-8");
    let mut expected = first;
    wait_until("it shows what was said before", || followed() == expected);
    house
        .hob(&["ask", "--session", "s", "what time is it?"])
        .success();
    expected += "Let me see.\n```\ncode\n\n```\nIt is **early**.";
    wait_until("it shows each answer once", || {
        followed().len() >= expected.len()
    });
    assert_eq!(followed(), expected);
}

#[test]
fn the_rust_service_survives_a_crash_of_the_daemon() {
    let mut house = House::start();
    let token = service_token(&house);
    let program = rust_example();
    let example = house.command_of(&program.display().to_string(), &[]);
    let _example = Example::start(&house, example, Some(&token));
    is_on_the_bus(&house);
    let refused = house.hob(&["rpc", "weather.now", r#"{"place": ""}"#]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    house.kill();
    house.start_daemon();
    wait_until("it registered again", || ask(&house).is_some());
}

/// The example's program. Tests of the whole workspace have built it; those of this crate alone
/// have not.
fn rust_example() -> PathBuf {
    let hob = Path::new(env!("CARGO_BIN_EXE_hob"));
    let program = hob.with_file_name("examples").join("weather");
    if !program.exists() {
        let mut cargo = House::builder().build().command_of(env!("CARGO"), &[]);
        cargo
            .envs(std::env::vars_os())
            .args([
                "build",
                "--quiet",
                "-p",
                "hob-client",
                "--example",
                "weather",
            ])
            .current_dir(root());
        assert!(cargo.status().expect("cargo runs").success());
    }
    program
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Says that something could not be tried here; in CI that is a failure.
fn not_run(why: &str) {
    eprintln!("NOT RUN: {why}");
    let environment = hob_kit::host_environment::EnvVars::capture();
    assert!(environment.text("CI") != Some("true"), "not run: {why}");
}
