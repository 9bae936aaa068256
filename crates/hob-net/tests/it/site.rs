//! A site that answers many requests, each by its path.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::Mutex;
use std::thread;

type Answer = dyn Fn(&str, &mut TcpStream) + Send + Sync;

pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    /// Every path that was asked for.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// Listens at `host`; `answer` writes what a path gets.
    pub(crate) fn start(
        host: SocketAddr,
        answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static,
    ) -> Site {
        Site::try_start(host, answer).expect("has a port")
    }

    /// The same where the port may be taken.
    pub(crate) fn try_start(
        host: SocketAddr,
        answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static,
    ) -> Option<Site> {
        let listener = TcpListener::bind(host).ok()?;
        let address = listener.local_addr().expect("has an address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let answer: Arc<Answer> = Arc::new(answer);
        thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                thread::spawn(move || {
                    if let Some(path) = path(&mut stream) {
                        log.lock().expect("is sound").push(path.clone());
                        answer(&path, &mut stream);
                    }
                });
            }
        });
        Some(Site { address, asked })
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("is sound").clone()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

fn path(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut buffer = [0; 4_096];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(read) => request.extend_from_slice(&buffer[..read]),
        }
    }
    let text = String::from_utf8_lossy(&request).into_owned();
    text.split(' ').nth(1).map(str::to_owned)
}

/// A whole answer; more headers come as whole lines.
pub(crate) fn answer(stream: &mut TcpStream, status: u16, headers: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body);
}

pub(crate) fn moved(stream: &mut TcpStream, to: &str) {
    answer(stream, 302, &format!("location: {to}\r\n"), b"");
}

/// Zeros, packed with gzip: 13 bits for every 258 of them.
pub(crate) fn bomb(megabytes: usize) -> Vec<u8> {
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let (mut word, mut count) = (0_u64, 0);
    let mut push = |bits: u64, length: u32| {
        word |= bits << count;
        count += length;
        while count >= 8 {
            packed.push(word.to_le_bytes()[0]);
            word >>= 8;
            count -= 8;
        }
    };
    // One last block of fixed codes: a zero, then "258 bytes like the one before" again and again.
    push(0b011, 3);
    push(0b0000_1100, 8);
    for _ in 0..megabytes * 1_048_576 / 258 {
        push(0b1010_0011, 8);
        push(0, 5);
    }
    push(0, 16);
    packed
}
