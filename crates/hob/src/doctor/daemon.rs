//! Checks the daemon: the holder of the lock, the state file, the socket and the port.

use super::{Finding, FindingLevel};
use crate::commands::status;
use crate::context::CommandContext;
use hob_kit::home_lock;
use hob_wire::rooms::daemon::{DaemonStatus, StateFile};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

const PORT_WAIT: Duration = Duration::from_secs(2);

/// Returns the status of a running daemon, and the findings.
pub(super) async fn examine(context: &CommandContext) -> (Option<DaemonStatus>, Vec<Finding>) {
    let home = &context.host.home;
    let state = std::fs::read_to_string(home.state_file()).ok();
    let state = state.and_then(|text| serde_json::from_str::<StateFile>(&text).ok());
    let Some(holder) = home_lock::holder_pid(home) else {
        return (None, not_running(context, state.is_some()));
    };
    let mut findings = Vec::new();
    match &state {
        Some(state) if state.pid == holder => findings.push(port(state)),
        _ => findings.push(Finding::bad(
            FindingLevel::Warning,
            "state file",
            format!("Process {holder} holds the home, but the state file does not name it"),
            "If it does not finish starting within a minute: hob restart",
        )),
    }
    let status = match context.home_client().await {
        Ok(Some(client)) => status::fetch_status(&client).await.map(Some),
        Ok(None) => Ok(None),
        Err(failure) => Err(failure),
    };
    match status {
        Ok(Some(status)) => {
            findings.extend(versions(&status));
            (Some(status), findings)
        }
        Ok(None) => {
            let message = format!("Process {holder} holds the home but its socket does not answer");
            findings.push(Finding::bad(
                FindingLevel::Broken,
                "socket",
                message,
                "hob restart",
            ));
            (None, findings)
        }
        Err(failure) => {
            let fix = failure.next.unwrap_or_else(|| "hob restart".to_owned());
            findings.push(Finding::bad(
                FindingLevel::Broken,
                "daemon",
                failure.sentence,
                fix,
            ));
            (None, findings)
        }
    }
}

fn not_running(context: &CommandContext, has_state: bool) -> Vec<Finding> {
    let home = &context.host.home;
    let mut findings = vec![Finding::well(
        "daemon",
        "not running; commands that need it start it",
    )];
    if has_state || home.socket().exists() {
        findings.push(Finding::bad(
            FindingLevel::Note,
            "state file",
            "A daemon that was killed left its state file or socket",
            "Nothing; the next start replaces them.",
        ));
    }
    findings
}

fn versions(status: &DaemonStatus) -> Vec<Finding> {
    let ours = env!("CARGO_PKG_VERSION");
    let mut findings = vec![Finding::well(
        "daemon",
        format!(
            "version {} answers on its socket (pid {})",
            status.version, status.pid
        ),
    )];
    if status.version != ours {
        findings.push(Finding::bad(
            FindingLevel::Warning,
            "version",
            format!("The daemon is {}, this program is {ours}", status.version),
            "hob restart",
        ));
    }
    findings
}

/// Checks that the HTTP port answers.
fn port(state: &StateFile) -> Finding {
    let address = format!("{}:{}", state.host, state.port);
    match request_health(&address) {
        Ok(answer) if answer.contains("200 OK") => {
            Finding::well("port", format!("http://{address} answers"))
        }
        Ok(answer) => {
            let first = answer.lines().next().unwrap_or("nothing").to_owned();
            let message = format!("http://{address}/health answers {first}");
            Finding::bad(FindingLevel::Broken, "port", message, "hob restart")
        }
        Err(error) => {
            let message = format!("http://{address} cannot be reached: {error}");
            let fix = "Look for a firewall on loopback; otherwise: hob restart";
            Finding::bad(FindingLevel::Broken, "port", message, fix)
        }
    }
}

fn request_health(address: &str) -> std::io::Result<String> {
    let mut addresses = address.to_socket_addrs()?;
    let first = addresses
        .next()
        .ok_or(std::io::ErrorKind::AddrNotAvailable)?;
    let mut stream = TcpStream::connect_timeout(&first, PORT_WAIT)?;
    // Another program may own the port and never answer.
    stream.set_read_timeout(Some(PORT_WAIT))?;
    stream.set_write_timeout(Some(PORT_WAIT))?;
    let request = format!("GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = [0; 256];
    let read = stream.read(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer[..read]).into_owned())
}
