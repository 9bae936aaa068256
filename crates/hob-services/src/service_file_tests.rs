//! A whole file, and every way one is wrong, with its line.

use super::*;
use crate::descriptor::{PlatformGuard, RestartIntensity, ServiceLimits};

const LISTENERS: &[&str] = &["first", "second", "third"];

#[test]
fn a_file_says_everything() {
    let text = r#"
about = "A web page"
kind = "http"
role = "tts"
aliases = ["page", "web-2"]
command = ["python3", "-m", "http.server", "{port}"]
port = 0
health = "/health"
ready_seconds = 5
restart = "always"
stop_seconds = 0.5
needs = ["db"]
autostart = true
listen = ["first", "third"]
idle_seconds = 60
os = ["linux"]
arch = ["x86_64"]
licence = "MIT"
env = { LANG = "C" }
intensity = { restarts = 3, seconds = 10 }
[limits]
processes = 10
memory_mb = 2
"#;
    let descriptor = parse("page", text, LISTENERS).unwrap();
    let mut expected = ServiceDescriptor::defaults("page");
    expected.about = "A web page".to_owned();
    expected.kind = ServiceKind::Http;
    expected.role = Some(ServiceRole::Tts);
    expected.aliases = vec!["page".to_owned(), "web-2".to_owned()];
    expected.command = ["python3", "-m", "http.server", "{port}"]
        .map(str::to_owned)
        .to_vec();
    expected.port = PortChoice::Free;
    expected.health = Some(HealthProbe::Path("/health".to_owned()));
    expected.ready = Duration::from_secs(5);
    expected.restart = ServiceRestart::Always;
    expected.stop = Duration::from_millis(500);
    expected.needs = vec!["db".to_owned()];
    expected.autostart = true;
    expected.listen = vec!["first".to_owned(), "third".to_owned()];
    expected.idle = Some(Duration::from_mins(1));
    expected.guard = PlatformGuard {
        os: vec!["linux".to_owned()],
        arch: vec!["x86_64".to_owned()],
    };
    expected.licence = Some("MIT".to_owned());
    expected.env = BTreeMap::from([("LANG".to_owned(), "C".to_owned())]);
    expected.intensity = RestartIntensity {
        restarts: 3,
        within: Duration::from_secs(10),
    };
    expected.limits = ServiceLimits {
        processes: Some(10),
        open_files: None,
        memory_bytes: Some(2 * MIB),
    };
    assert_eq!(descriptor, expected);
}

#[test]
fn the_smallest_file_is_a_process_that_is_restarted_when_it_fails() {
    let descriptor = parse("a", "command = [\"sleep\", \"9\"]", LISTENERS).unwrap();
    assert_eq!(
        (descriptor.kind, descriptor.port),
        (ServiceKind::Process, PortChoice::None)
    );
    assert_eq!(
        (descriptor.restart, descriptor.autostart),
        (ServiceRestart::OnFailure, false)
    );
    assert_eq!(
        (descriptor.ready.as_secs(), descriptor.stop.as_secs()),
        (30, 2)
    );
}

#[test]
fn what_is_wrong_is_said_with_its_key_and_line() {
    let ok = "command = [\"x\"]\n";
    let cases: &[(&str, Option<usize>, &str)] = &[
        ("comand = [\"x\"]", Some(1), "no key 'comand'"),
        ("", None, "'command' names the program"),
        ("command = []", Some(1), "'command' names the program"),
        (
            "command = \"x\"",
            Some(1),
            "'command' takes a list of texts",
        ),
        (
            "listen = [\"firs\"]",
            Some(1),
            "no listener 'firs'; known are first, second, third",
        ),
        ("\nport = \"a\"", Some(2), "'port' takes a whole number"),
        ("port = 70000", Some(1), "'port' takes a whole number"),
        (
            "kind = \"https\"",
            Some(1),
            "'kind' takes one of http, process",
        ),
        ("kind = \"http\"\nport = 0", Some(1), "needs 'health'"),
        (
            "health = \"/h\"\nport = 0",
            Some(1),
            "only a service of kind",
        ),
        (
            "kind = \"http\"\nhealth = \"/h\"",
            Some(2),
            "'port' must say where",
        ),
        (
            "kind = \"http\"\nhealth = \"ftp://a\"",
            Some(2),
            "begins with http://",
        ),
        ("restart = \"maybe\"", Some(1), "'restart' takes one of"),
        (
            "ready_seconds = 0",
            Some(1),
            "'ready_seconds' takes seconds",
        ),
        ("stop_seconds = -1", Some(1), "'stop_seconds' takes seconds"),
        (
            "\n\nneeds = [\"A b\"]",
            Some(3),
            "'A b' is not a service name",
        ),
        ("env = { A = 1 }", Some(1), "'env' takes a table of texts"),
        ("env = { A = \"{port}\" }", Some(1), "'port' must be set"),
        ("autostart = 1", Some(1), "'autostart' takes true or false"),
        ("[limits]\nmemory = 1", Some(2), "no key 'limits.memory'"),
        (
            "limits = { processes = 0 }",
            Some(1),
            "'limits.processes' takes",
        ),
        (
            "intensity = { restarts = -1 }",
            Some(1),
            "'intensity.restarts' takes",
        ),
        ("about = ", Some(1), "this is not TOML"),
        ("about = \"a\"\nabout = \"b\"", Some(2), "this is not TOML"),
    ];
    for (text, line, message) in cases {
        let whole = if text.contains("command") || text.is_empty() {
            (*text).to_owned()
        } else if text.starts_with('[') {
            format!("command=[\"x\"]\n{text}").replacen('\n', " \n", 1)
        } else {
            format!("{text}\n{ok}")
        };
        // A table's case has its command on a line before it.
        let line = if text.starts_with('[') {
            line.map(|line| line + 1)
        } else {
            *line
        };
        let problem = parse("a", &whole, LISTENERS).expect_err(text);
        assert!(problem.message.contains(message), "{text}: {problem:?}");
        assert_eq!(problem.line, line, "{text}: {problem:?}");
    }
}

#[test]
fn names_are_plain() {
    for (name, good) in [
        ("llm", true),
        ("a-b_2", true),
        ("", false),
        ("2a", false),
        ("A", false),
        ("a.b", false),
        ("..", false),
        ("a/b", false),
    ] {
        assert_eq!(is_service_name(name), good, "{name}");
    }
    assert!(!is_service_name(&"a".repeat(NAME_CHARS_MAX + 1)));
}
