//! Outputs as programs print them, and what is read from each.

use super::analyze;
use hob_wire::analysis::{Importance, OutputAnalysis};
use proptest::prelude::*;

fn of(command: &str, output: &str) -> OutputAnalysis {
    analyze(Some(command), output, None)
}

fn messages(analysis: &OutputAnalysis) -> Vec<(Importance, &str)> {
    analysis
        .findings
        .iter()
        .map(|found| (found.importance, found.message.as_str()))
        .collect()
}

const DF: &str = "\
Filesystem      Size  Used Avail Use% Mounted on
udev             12G     0   12G   0% /dev
/dev/nvme0n1p2  252G  206G   46G  82% /
/dev/nvme0n1p1  511M  480M   31M  94% /boot/efi
/dev/loop3       64M   64M     0 100% /snap/core20/1974
a-very-long-name-of-a-network-share
                 4.0T  1.0T  3.0T  25% /mnt/our files
";

#[test]
fn disks() {
    let read = of("df -h", DF);
    assert_eq!(read.format, "df");
    assert_eq!(
        read.summary,
        "5 filesystems; /boot/efi is the fullest with 94 %."
    );
    assert_eq!(
        messages(&read),
        [
            (Importance::Critical, "/boot/efi is 94 % full (31M left)"),
            (Importance::High, "/ is 82 % full (46G left)"),
        ]
    );
    let share = &read.parsed["filesystems"][4];
    assert_eq!(share["filesystem"], "a-very-long-name-of-a-network-share");
    assert_eq!(
        (&share["usedPercent"], &share["mountedOn"]),
        (&25.into(), &"/mnt/our files".into())
    );
    assert_eq!((read.line_count, read.byte_count), (7, DF.len() as u64));
    let types = DF.replace("Filesystem      Size", "Filesystem Type Size");
    assert_eq!(
        of("df -hT", &types.replace(" 252G", " ext4 252G")).format,
        "df"
    );
}

const PS: &str = "\
USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
root           1  0.0  0.1 168400 12924 ?        Ss   Nov15   0:06 /sbin/init splash
ann         4711 98.5  3.1 972620 51000 pts/0    Rl   10:02  12:54 /usr/bin/node server.js --port 80
ann         4712  1.0 61.4 972620 51000 pts/0    Sl   10:02   0:54 java -jar app.jar
ann         4800  0.0  0.0      0     0 ?        Z    10:03   0:00 [sh] <defunct>
";

#[test]
fn processes() {
    let read = of("ps aux", PS);
    assert_eq!(read.format, "ps");
    let busy = "4 processes; node (4711) is the busiest with 98.5 % of a processor.";
    assert_eq!(read.summary, busy);
    assert_eq!(
        messages(&read),
        [
            (Importance::High, "node (4711) uses 98.5 % of a processor"),
            (Importance::High, "java (4712) uses 61.4 % of the memory"),
            (Importance::Medium, "1 process is a zombie"),
        ]
    );
    assert_eq!(
        read.parsed["processes"][1]["command"],
        "/usr/bin/node server.js --port 80"
    );
    assert_eq!(read.parsed["processes"][0]["stat"], "Ss");
    let full =
        "UID   PID  PPID  C STIME TTY   TIME CMD\nroot    1     0  0 Nov15 ?  00:06:53 init x\n";
    assert_eq!(of("ps -ef", full).summary, "1 process.");
}

const TOP: &str = "\
top - 14:27:22 up 17:24,  2 users,  load average: 3.35, 3.60, 4.04
Tasks: 109 total,   1 running, 108 sleeping,   0 stopped,   0 zombie
%Cpu(s):  0.0 us,  0.0 sy,  0.0 ni,100.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st
MiB Mem :  24103.9 total,   6681.7 free,   1836.8 used,  16077.8 buff/cache

    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
  13202 ann       25   5  768988 262788 155168 S  56.2   1.1   0:01.37 rustc
  13197 ann       25   5  972620 335992 213488 S  43.8   1.4   0:01.54 rustc
";

#[test]
fn the_list_of_top() {
    for output in [TOP.to_owned(), format!("{TOP}\n{TOP}")] {
        let read = of("top -bn2", &output);
        assert_eq!(read.format, "ps");
        assert_eq!(read.parsed["count"], 2);
        assert_eq!(read.parsed["loadAverage"], "3.35, 3.60, 4.04");
        assert_eq!(read.parsed["processes"][0]["time"], "0:01.37");
        assert!(
            read.summary.ends_with("the load is 3.35, 3.60, 4.04."),
            "{}",
            read.summary
        );
    }
}

const SS: &str = "\
Netid State  Recv-Q Send-Q Local Address:Port Peer Address:PortProcess
udp   UNCONN 0      0          127.0.0.54:53        0.0.0.0:*    users:((\"systemd-resolve\",pid=700,fd=16))
tcp   LISTEN 0      128           0.0.0.0:22        0.0.0.0:*    users:((\"sshd\",pid=812,fd=3))
tcp   LISTEN 0      128              [::]:22           [::]:*    users:((\"sshd\",pid=812,fd=4))
tcp   LISTEN 0      511                 *:6379            *:*    users:((\"redis-server\",pid=5,fd=6))
tcp   ESTAB  0      0        10.0.0.2:22     10.0.0.9:51514
tcp   LISTEN 0      128    127.0.0.1:631        0.0.0.0:*
";

const NETSTAT: &str = "\
Active Internet connections (servers and established)
Proto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name
tcp        0      0 127.0.0.1:5432          0.0.0.0:*               LISTEN      900/postgres
tcp        0      0 0.0.0.0:80              0.0.0.0:*               LISTEN      901/nginx: master
tcp6       0      0 :::80                   :::*                    LISTEN      901/nginx: master
tcp        0     36 10.0.0.2:22             10.0.0.9:51514          ESTABLISHED 912/sshd: ann
udp        0      0 0.0.0.0:5353            0.0.0.0:*                           411/avahi-daemon
";

#[test]
fn sockets() {
    let read = of("sudo ss -tulnp", SS);
    assert_eq!(read.format, "sockets");
    assert_eq!(read.summary, "6 sockets, 5 of them listening.");
    assert_eq!(
        messages(&read),
        [
            (
                Importance::High,
                "redis-server listens on port 6379 (Redis) on all interfaces"
            ),
            (
                Importance::Medium,
                "sshd listens on port 22 on all interfaces"
            ),
        ]
    );
    let read = of("netstat -tulpan", NETSTAT);
    assert_eq!(
        messages(&read),
        [
            (
                Importance::Medium,
                "nginx listens on port 80 on all interfaces"
            ),
            (
                Importance::Medium,
                "avahi-daemon listens on UDP port 5353 on all interfaces"
            ),
        ]
    );
    assert_eq!(read.parsed["sockets"][3]["state"], "ESTABLISHED");
}

const LS: &str = "\
total 48
drwxr-xr-x  5 ann  ann  4096 Nov 16 10:00 .
drwxrwxrwt 20 root root 4096 Nov 16 10:00 ..
-rw-r--r--  1 ann  ann   220 Nov 16  2024 two words.txt
-rw-rw-rw-  1 ann  ann   220 Nov 16 10:00 shared.txt
lrwxrwxrwx  1 ann  ann     7 Nov 16 10:00 link -> target
-rwsr-xr-x  1 root root 1024 Nov 16 10:00 mount
crw-rw-rw-  1 root root 1, 3 Nov 16 10:00 null
drwxr-xr-x  2 ann  ann  4096 Nov 16 10:00 folder
";

#[test]
fn listings() {
    let read = of("ls -la", LS);
    assert_eq!(read.format, "ls");
    assert_eq!(read.summary, "1 folder and 5 other entries.");
    assert_eq!(
        messages(&read),
        [
            (Importance::Medium, "shared.txt may be changed by everybody"),
            (Importance::Low, "mount runs as its owner root"),
        ]
    );
    let entries = &read.parsed["entries"];
    assert_eq!(entries[2]["name"], "two words.txt");
    assert_eq!(
        (&entries[4]["target"], &entries[4]["kind"]),
        (&"target".into(), &"link".into())
    );
    assert_eq!(entries[6]["kind"], "device");
    let iso = "-rw-r--r-- 1 ann ann 5 2026-11-16 10:00:00.000000000 +0000 x y\n";
    assert_eq!(
        of("ls --full-time", iso).parsed["entries"][0]["name"],
        "x y"
    );
    assert_eq!(
        of("ls -l", "total 0\n").summary,
        "0 folders and 0 other entries."
    );
    assert_eq!(
        of("ls", "a\nb\n").format,
        "text",
        "only the long form has a shape"
    );
}

const IP: &str = "\
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
       valid_lft forever preferred_lft forever
2: eth0@if7: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1400 qdisc pfifo_fast state UP group default qlen 1000
    link/ether 02:fc:00:00:00:01 brd ff:ff:ff:ff:ff:ff
    inet 192.0.2.2/24 brd 192.0.2.255 scope global eth0
       valid_lft forever preferred_lft forever
    inet6 fe80::fc:ff:fe00:1/64 scope link
       valid_lft forever preferred_lft forever
3: eth1: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc fq_codel state DOWN group default qlen 1000
    link/ether 02:fc:00:00:00:02 brd ff:ff:ff:ff:ff:ff
";

#[test]
fn addresses() {
    let read = of("ip addr", IP);
    assert_eq!(read.format, "ip");
    assert_eq!(read.summary, "3 interfaces; eth0 has 192.0.2.2/24.");
    assert_eq!(
        messages(&read),
        [(Importance::Low, "eth1 is up but nothing is plugged in")]
    );
    assert_eq!(
        read.parsed["interfaces"][1]["hardware"],
        "02:fc:00:00:00:01"
    );
    assert_eq!(read.parsed["interfaces"][1]["mtu"], 1_400);
}

const UNITS: &str = "\
  UNIT                     LOAD      ACTIVE SUB     DESCRIPTION
  cron.service             loaded    active running Regular background program processing
● nginx.service            loaded    failed failed  A high performance web server
● old.service              not-found inactive dead  old.service

LOAD   = Reflects whether the unit definition was properly loaded.
3 loaded units listed.
";

const STATUS: &str = "\
× nginx.service - A high performance web server
     Loaded: loaded (/lib/systemd/system/nginx.service; enabled; preset: enabled)
     Active: failed (Result: exit-code) since Mon 2026-11-16 10:00:00 UTC; 2h ago
   Main PID: 901 (code=exited, status=1/FAILURE)
     Memory: 1.2M
";

#[test]
fn units() {
    let read = of("systemctl list-units", UNITS);
    assert_eq!(read.format, "systemctl");
    assert_eq!(read.summary, "3 units, 1 failed: nginx.service.");
    assert_eq!(
        messages(&read),
        [
            (
                Importance::High,
                "nginx.service has failed: A high performance web server"
            ),
            (Importance::Low, "old.service is wanted but not installed"),
        ]
    );
    let read = of("systemctl status nginx", STATUS);
    assert_eq!(read.summary, "nginx.service is failed (Result: exit-code).");
    assert_eq!(
        (&read.parsed["mainPid"], read.findings.len()),
        (&901.into(), 1)
    );
}

const JOURNAL: &str = "\
-- Journal begins at Mon 2026-11-16 09:00:00 UTC. --
Nov 16 10:00:01 desk sshd[812]: Accepted publickey for ann from 10.0.0.9 port 51514
Nov 16 10:00:02 desk kernel: Out of memory: Killed process 4712 (java) total-vm:972620kB
Nov 16 10:00:03 desk nginx[901]: bind() to 0.0.0.0:80 failed (98: Address already in use)
Nov 16 10:00:04 desk backup[77]: finished with 0 errors
Nov 16 10:00:05 desk app[5]: warning: terror is not an error here
Nov 16 10:00:06 desk app[5]: deprecated call
";

#[test]
fn logs() {
    let read = of("journalctl -b", JOURNAL);
    assert_eq!(read.format, "journal");
    assert_eq!(
        read.summary,
        "6 lines from Nov 16 10:00:01 to Nov 16 10:00:06, 2 errors."
    );
    assert_eq!(read.parsed["warnings"], 1);
    assert_eq!(read.parsed["sources"][0]["name"], "app");
    let found = messages(&read);
    assert_eq!(found[0].0, Importance::Critical);
    assert!(
        found[0].1.contains("Killed process 4712 (java)"),
        "{found:?}"
    );
    assert!(
        found[1].1.starts_with("Nov 16 10:00:05 app: warning"),
        "{found:?}"
    );
    assert!(
        found[2].1.starts_with("Nov 16 10:00:03 nginx: bind()"),
        "{found:?}"
    );
    let iso = "2026-11-16T10:00:01+00:00 desk a: fine\n2026-11-16T10:00:02+00:00 desk a: ok\n";
    assert!(of("tail app.log", iso).summary.ends_with("no errors."));
    let ring = "[    0.000000] Linux version 6.1\n[    1.500000] usb 1-1: device not accepting, error -71\n";
    assert_eq!(of("dmesg", ring).findings.len(), 1);
}

#[test]
fn scans() {
    let output = "\
Starting Nmap 7.93 ( https://nmap.org ) at 2026-11-16 10:00 UTC
Nmap scan report for router (192.0.2.1)
Host is up (0.0010s latency).
Not shown: 997 closed tcp ports (reset)
PORT     STATE    SERVICE VERSION
22/tcp   open     ssh     OpenSSH 9.2p1 Debian 2
23/tcp   open     telnet
8080/tcp filtered http-proxy

Nmap done: 1 IP address (1 host up) scanned in 1.30 seconds
";
    let read = of("nmap -sV 192.0.2.1", output);
    assert_eq!(read.format, "nmap");
    assert_eq!(
        read.summary,
        "1 host answers, with 2 open ports: 22/tcp, 23/tcp."
    );
    assert_eq!(read.findings[0].importance, Importance::High);
    assert_eq!(
        read.findings[0].message,
        "router (192.0.2.1) has port 23/tcp open (telnet)"
    );
    assert_eq!(
        read.parsed["hosts"][0]["ports"][0]["version"],
        "OpenSSH 9.2p1 Debian 2"
    );
}

#[test]
fn values_of_json() {
    let read = of(
        "curl -s localhost",
        "{\"status\": 500, \"error\": {\"message\": \"no disk\"}}\n",
    );
    assert_eq!(read.format, "json");
    assert_eq!(read.summary, "A JSON object with 2 fields: status, error.");
    assert_eq!(messages(&read), [(Importance::High, "no disk")]);
    assert_eq!(read.parsed["status"], 500);
    assert_eq!(of("x", "[1, 2]").summary, "A JSON list of 2 items.");
    assert_eq!(
        of("x", "{\"a\":1}\n{\"a\":2}\n").summary,
        "A JSON list of 2 items."
    );
    for no in ["{", "[error] no", "{}x", "7", "\"a\"", "[1]\n[2]"] {
        assert_eq!(of("jq .", no).format, "text", "{no}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(of("jq .", &deep).format, "text");
}

#[test]
fn tables() {
    let containers = "\
CONTAINER ID   IMAGE          STATUS         NAMES
1f2e3d4c5b6a   postgres:16    Up 2 hours     db
a1b2c3d4e5f6   our/app:new    Exited (1)     app two
";
    let read = of("docker ps", containers);
    assert_eq!(read.format, "table");
    let columns = "A table of 2 rows with the columns CONTAINER ID, IMAGE, STATUS, NAMES.";
    assert_eq!(read.summary, columns);
    assert_eq!(read.parsed["rows"][1][2], "Exited (1)");
    let free = [
        "               total        used        free",
        "Mem:           24103        1844        6673",
        "Swap:              0           0           0",
    ]
    .join("\n");
    assert_eq!(of("free -m", &free).parsed["rows"][1][0], "Swap:");
    assert_eq!(of("x", "a\tb\n1\t2\n").parsed["columns"][1], "b");
    assert_eq!(
        of("x", "HELLO WORLD AND ALL\nsome other words\n").format,
        "text"
    );
}

#[test]
fn the_kind_is_never_guessed_by_parts_of_words() {
    for command in [
        "false",
        "less x",
        "curl https://ps.example/ls/df",
        "process-jsonnet",
    ] {
        assert_eq!(
            of(command, "a line\nand another one\n").format,
            "text",
            "{command}"
        );
    }
    assert_eq!(
        of("cat saved.txt", DF).format,
        "df",
        "a shape is known whoever prints it"
    );
    assert_eq!(
        of("df", "df: /x: No such file or directory\n").format,
        "text"
    );
    assert_eq!(
        of(
            "ps aux | head -3",
            &PS.lines().take(3).collect::<Vec<_>>().join("\n")
        )
        .format,
        "ps"
    );
}

#[test]
fn text_and_how_a_command_ended() {
    assert_eq!(of("true", "").summary, "It printed nothing.");
    assert_eq!(of("uptime", "up 3 days\n").summary, "One line: up 3 days");
    assert_eq!(of("x", "a\nb\n").summary, "2 lines of text, the last: b");
    let missing = analyze(
        Some("ls /x"),
        "ls: cannot access '/x': No such file or directory\n",
        Some(2),
    );
    assert_eq!(missing.format, "text");
    assert!(
        missing
            .summary
            .starts_with("It ended with exit code 2. 1 line, with an error: ls:")
    );
    assert_eq!(missing.findings[0].category, "error");
    assert_eq!(missing.findings[1].message, "It ended with exit code 2.");
    let unknown = analyze(None, "bash: foo: command not found\n", Some(127));
    assert!(
        unknown.summary.contains("there is no such command"),
        "{}",
        unknown.summary
    );
    assert_eq!(
        of("cargo build", "error[E0308]: mismatched types\n")
            .findings
            .len(),
        1
    );
    assert_eq!(
        of("echo", "no errors: all is well\nerrors: 0\n").findings,
        []
    );
}

proptest! {
    #[test]
    fn any_text_is_some_kind(
        command in "[ -~]{0,40}",
        output in "(.{0,40}\n){0,12}",
        sample in 0..8_usize,
        cut in 0..2_000_usize,
    ) {
        let long = [DF, PS, TOP, SS, NETSTAT, LS, IP, JOURNAL][sample];
        let cut = &long[..long.floor_char_boundary(cut.min(long.len()))];
        for text in [output.clone(), format!("{cut}{output}"), format!("{output}{cut}")] {
            let read = analyze(Some(&command), &text, None);
            prop_assert!(!read.summary.is_empty() && read.findings.len() <= super::FINDINGS_MAX);
        }
    }
}
