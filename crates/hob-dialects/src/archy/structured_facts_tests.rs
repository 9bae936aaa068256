//! Archy's format names and keys, from real output through the analysis.

use super::{format_name, structured};
use crate::archy::analysis::analyze;
use hob_wire::analysis::OutputAnalysis;
use serde_json::{Value, json};

fn facts(command: &str, output: &str) -> (&'static str, Value) {
    let read = analyze(Some(command), output, Some(0));
    let found = structured(&read, command, output);
    assert!(found.is_object(), "{command}: {found}");
    (format_name(&read, command), found)
}

/// Some of the keys of an object.
fn only(facts: &Value, keys: &[&str]) -> Value {
    Value::Object(
        keys.iter()
            .map(|&key| (key.to_owned(), facts[key].clone()))
            .collect(),
    )
}

#[test]
fn disks_have_archys_names() {
    let output = "Filesystem      Size  Used Avail Use% Mounted on\n\
        /dev/sda1        50G   48G  2.0G  96% /\n";
    let (format, found) = facts("df -h", output);
    assert_eq!(format, "disk_usage");
    assert_eq!(
        found,
        json!({ "command": "df -h", "filesystems": [{
            "filesystem": "/dev/sda1", "size": "50G", "used": "48G", "available": "2.0G",
            "usage_percent": 96, "mount": "/",
        }] })
    );
}

#[test]
fn processes_and_sockets_are_counted() {
    let (format, found) = facts(
        "ps aux",
        "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\n\
         root 1 0.0 0.1 1 1 ? Ss 10:00 0:01 init\n",
    );
    assert_eq!(format, "process_table");
    assert_eq!(
        only(&found, &["process_count", "type"]),
        json!({ "process_count": 1, "type": "process_list" })
    );
    let (format, found) = facts(
        "ss -tn",
        "State  Recv-Q Send-Q Local Address:Port Peer Address:Port\n\
         LISTEN 0 128 127.0.0.1:22 0.0.0.0:*\n\
         ESTAB 0 0 10.0.0.2:22 10.0.0.9:40000\n",
    );
    assert_eq!(format, "network_table");
    assert_eq!(
        only(
            &found,
            &["connections", "established_count", "listening_count"]
        ),
        json!({
            "connections": [{
                "protocol": "tcp", "local": "10.0.0.2:22", "remote": "10.0.0.9:40000",
                "state": "ESTABLISHED",
            }],
            "established_count": 1, "listening_count": 1,
        })
    );
}

#[test]
fn a_folder_is_counted_also_where_its_list_is_cut() {
    let rows = (0..600).map(|number| format!("-rw-r--r-- 1 me me 10 Nov 16 09:00 file{number}\n"));
    let output = format!(
        "total 4\ndrwxr-xr-x 2 me me 4096 Nov 16 09:00 src\n{}",
        rows.collect::<String>()
    );
    let (format, found) = facts("ls -l", &output);
    assert_eq!(format, "ls_long");
    assert_eq!(
        only(&found, &["files", "directories", "total_size_bytes"]),
        json!({ "files": 600, "directories": 1, "total_size_bytes": 6_000 })
    );
    assert_eq!(found["entries"].as_array().unwrap().len(), 500);
}

#[test]
fn interfaces_units_logs_and_scans_have_archys_names() {
    let (format, found) = facts(
        "ip addr",
        "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN\n    \
         inet 127.0.0.1/8 scope host lo\n    inet6 ::1/128 scope host\n",
    );
    assert_eq!(format, "ip_addr");
    assert_eq!(
        only(&found, &["interfaces", "ipv4_addresses"]),
        json!({ "interfaces": ["lo"], "ipv4_addresses": ["127.0.0.1/8"] })
    );
    let (format, found) = facts(
        "systemctl list-units",
        "UNIT LOAD ACTIVE SUB DESCRIPTION\n\
         ssh.service loaded active running Shell\n\
         ● web.service loaded failed failed Web\n\
         a.mount loaded active mounted A\n",
    );
    assert_eq!(format, "systemctl");
    assert_eq!(
        only(
            &found,
            &[
                "active_count",
                "failed_count",
                "active_services",
                "failed_services"
            ]
        ),
        json!({
            "active_count": 1, "failed_count": 1, "active_services": ["ssh"],
            "failed_services": ["web"],
        })
    );
    let (format, found) = facts(
        "journalctl -n 3",
        "Nov 16 09:00:00 box app[7]: warning: low\n\
         Nov 16 09:00:01 box systemd[1]: web.service: Failed with result 'exit-code'\n\
         Nov 16 09:00:02 box app[7]: fine\n",
    );
    assert_eq!(format, "journalctl");
    assert_eq!(
        only(&found, &["error_count", "warning_count", "failed_services"]),
        json!({ "error_count": 1, "warning_count": 1, "failed_services": ["web"] })
    );
    assert_eq!(found["errors"].as_array().unwrap().len(), 1);
    let (format, found) = facts(
        "nmap 10.0.0.1",
        "Nmap scan report for 10.0.0.1\nHost is up.\nPORT STATE SERVICE\n22/tcp open ssh\n\
         Nmap done: 1 IP address\n",
    );
    assert_eq!(format, "nmap");
    assert_eq!(
        only(&found, &["hosts_up", "open_ports", "services", "scan_type"]),
        json!({
            "hosts_up": 1, "open_ports": ["22/tcp"], "services": ["ssh"], "scan_type": "nmap",
        })
    );
}

/// Archy's clients merge the keys of several commands, so a list would end them.
#[test]
fn json_and_plain_text_are_objects_too() {
    for (output, expected) in [
        (r#"{"a": 1}"#, json!({ "a": 1 })),
        ("[1, 2]", json!({ "items": [1, 2] })),
    ] {
        assert_eq!(facts("cat x.json", output), ("json", expected));
    }
    assert_eq!(
        facts("echo hi", "hi\n"),
        (
            "plain_text",
            json!({ "type": "plain_text", "line_count": 1, "content": "hi", "command": "echo hi" })
        )
    );
    assert_eq!(facts("lsblk", "sda 8:0\n").0, "block_devices");
    let (format, found) = facts("x", "a\tb\n1\t2\n");
    assert_eq!(
        (format, &found["columns"], &found["line_count"]),
        ("table", &json!(["a", "b"]), &json!(2))
    );
    let nothing = OutputAnalysis {
        format: "text".to_owned(),
        parsed: Value::Null,
        findings: Vec::new(),
        summary: String::new(),
        line_count: 0,
        byte_count: 0,
    };
    assert_eq!(
        structured(&nothing, "", ""),
        json!({ "type": "plain_text", "line_count": 0, "content": "" })
    );
    let long = "é".repeat(40_000);
    let found = structured(&nothing, "", &long);
    assert_eq!(found["content"].as_str().unwrap().len(), 64 * 1024);
    assert_eq!(found["content_cut"], true);
}
