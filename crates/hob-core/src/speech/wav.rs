//! What a WAV file says of itself: read, mended where its lengths were left open, measured, joined.
//!
//! Invariant: what is written has lengths that are true.

/// How many bytes the head of a file has that is written here.
const HEAD_BYTES: usize = 44;
const RIFF_BYTES: usize = 12;
const CHUNK_HEAD_BYTES: usize = 8;
const PCM: u16 = 1;

/// A file of uncompressed samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wav<'a> {
    pub format: Format,
    pub samples: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    pub channels: u16,
    /// Samples a second.
    pub rate: u32,
    /// Bits of a sample.
    pub bits: u16,
}

/// Why a file cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WavError {
    NotWav,
    Compressed,
    Short,
    Unlike,
    Long,
}

impl std::fmt::Display for WavError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            WavError::NotWav => "it is no WAV file",
            WavError::Compressed => "its samples are compressed",
            WavError::Short => "it ends too early",
            WavError::Unlike => "the pieces have different formats",
            WavError::Long => "it is too long",
        })
    }
}

impl std::error::Error for WavError {}

impl<'a> Wav<'a> {
    /// Reads a file. Samples that say they are longer than the file end with it: a program that
    /// writes to a pipe does not know how long they will be.
    pub fn read(file: &'a [u8]) -> Result<Wav<'a>, WavError> {
        let riff = file.get(..RIFF_BYTES).ok_or(WavError::NotWav)?;
        if &riff[..4] != b"RIFF" || &riff[8..] != b"WAVE" {
            return Err(WavError::NotWav);
        }
        let (mut format, mut at) = (None, RIFF_BYTES);
        loop {
            let head = file.get(at..at + CHUNK_HEAD_BYTES).ok_or(WavError::Short)?;
            let size = u32_at(head, 4).ok_or(WavError::Short)? as usize;
            let body = file.get(at + CHUNK_HEAD_BYTES..).unwrap_or_default();
            match (&head[..4], format) {
                (b"fmt ", _) => format = Some(Format::read(body)?),
                (b"data", Some(format)) => {
                    let samples = &body[..size.min(body.len())];
                    let whole = samples.len() - samples.len() % format.frame_bytes();
                    return Ok(Wav {
                        format,
                        samples: &samples[..whole],
                    });
                }
                _ => {}
            }
            // Chunks begin at even places.
            let next = size.checked_add(size % 2 + CHUNK_HEAD_BYTES);
            at = next
                .and_then(|step| at.checked_add(step))
                .ok_or(WavError::Short)?;
        }
    }

    pub fn duration_ms(&self) -> u64 {
        let frames = (self.samples.len() / self.format.frame_bytes()) as u64;
        frames * 1_000 / u64::from(self.format.rate)
    }

    /// The same sound with lengths that are true.
    pub fn write(&self) -> Result<Vec<u8>, WavError> {
        write(self.format, &[self.samples])
    }
}

impl Format {
    fn read(body: &[u8]) -> Result<Format, WavError> {
        let number = |at| u16_at(body, at).ok_or(WavError::Short);
        let format = Format {
            channels: number(2)?,
            rate: u32_at(body, 4).ok_or(WavError::Short)?,
            bits: number(14)?,
        };
        if number(0)? != PCM {
            return Err(WavError::Compressed);
        }
        let is_sound = format.channels > 0
            && format.rate > 0
            && format.bits > 0
            && format.bits.is_multiple_of(8)
            && format.bits <= 64
            && format.channels <= 64;
        is_sound.then_some(format).ok_or(WavError::NotWav)
    }

    fn frame_bytes(self) -> usize {
        usize::from(self.channels) * usize::from(self.bits / 8)
    }
}

/// The sound of several files one after the other; they must be of one format.
pub fn join<F: AsRef<[u8]>>(files: &[F]) -> Result<Vec<u8>, WavError> {
    let read: Result<Vec<Wav<'_>>, WavError> =
        files.iter().map(|file| Wav::read(file.as_ref())).collect();
    let read = read?;
    let format = read.first().ok_or(WavError::NotWav)?.format;
    if read.iter().any(|wav| wav.format != format) {
        return Err(WavError::Unlike);
    }
    let samples: Vec<&[u8]> = read.iter().map(|wav| wav.samples).collect();
    write(format, &samples)
}

fn write(format: Format, samples: &[&[u8]]) -> Result<Vec<u8>, WavError> {
    let bytes: usize = samples.iter().map(|piece| piece.len()).sum();
    let pad = bytes % 2;
    let long = |_| WavError::Long;
    let size = u32::try_from(bytes).map_err(long)?;
    let whole = u32::try_from(bytes + pad + HEAD_BYTES - CHUNK_HEAD_BYTES).map_err(long)?;
    let frame = u16::try_from(format.frame_bytes()).map_err(long)?;
    let second = format.rate.checked_mul(u32::from(frame));
    let second = second.ok_or(WavError::Long)?;
    let mut out = Vec::with_capacity(HEAD_BYTES + bytes + pad);
    out.extend_from_slice(b"RIFF");
    out.extend_from_slice(&whole.to_le_bytes());
    out.extend_from_slice(b"WAVEfmt ");
    out.extend_from_slice(&16_u32.to_le_bytes());
    out.extend_from_slice(&PCM.to_le_bytes());
    out.extend_from_slice(&format.channels.to_le_bytes());
    out.extend_from_slice(&format.rate.to_le_bytes());
    out.extend_from_slice(&second.to_le_bytes());
    out.extend_from_slice(&frame.to_le_bytes());
    out.extend_from_slice(&format.bits.to_le_bytes());
    out.extend_from_slice(b"data");
    out.extend_from_slice(&size.to_le_bytes());
    for piece in samples {
        out.extend_from_slice(piece);
    }
    out.resize(out.len() + pad, 0);
    Ok(out)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..at + 2)?;
    Some(u16::from_le_bytes([two[0], two[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}

#[cfg(test)]
#[path = "wav_tests.rs"]
mod tests;
