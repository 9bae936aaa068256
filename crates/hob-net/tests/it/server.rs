//! A server that takes one request and answers with the bytes it was given.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Longer than anything here should take.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// One answer: bytes in order, then what becomes of the connection.
#[derive(Clone)]
pub(crate) struct Script {
    /// An empty one is a pause, long enough for what came before it to be read by itself.
    pub(crate) writes: Vec<Vec<u8>>,
    /// Stays open and silent afterwards.
    pub(crate) stays: bool,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// The request's bytes, what else came on its connection, a word when the client hung up.
    pub(crate) seen: mpsc::Receiver<String>,
}

impl Server {
    pub(crate) fn start(script: Script) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("has a port");
        let address = listener.local_addr().expect("has an address");
        let (tell, seen) = mpsc::sync_channel(8);
        thread::spawn(move || {
            let Ok((stream, _)) = listener.accept() else {
                return;
            };
            serve(stream, &script, &tell);
        });
        Server { address, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/x", self.address)
    }

    pub(crate) fn seen(&self) -> String {
        self.seen
            .recv_timeout(LONG)
            .expect("the server saw something")
    }
}

fn serve(mut stream: TcpStream, script: &Script, tell: &mpsc::SyncSender<String>) {
    let mut request = Vec::new();
    let mut buffer = [0; 4_096];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(read) => request.extend_from_slice(&buffer[..read]),
        }
    }
    let _ = tell.try_send(String::from_utf8_lossy(&request).into_owned());
    for bytes in &script.writes {
        if bytes.is_empty() {
            thread::sleep(Duration::from_millis(200));
        }
        if stream
            .write_all(bytes)
            .and_then(|()| stream.flush())
            .is_err()
        {
            break;
        }
    }
    if script.stays {
        // The client's end of the connection is the only thing that ends this.
        while let Ok(read @ 1..) = stream.read(&mut buffer) {
            let _ = tell.try_send(String::from_utf8_lossy(&buffer[..read]).into_owned());
        }
        let _ = tell.try_send("hung up".to_owned());
    }
}

/// An event stream without a content length.
pub(crate) fn events(body: &str) -> Script {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    Script {
        writes: vec![head.as_bytes().to_vec(), body.as_bytes().to_vec()],
        stays: false,
    }
}
