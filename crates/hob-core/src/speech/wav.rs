//! WAV files: parsed, repaired where their lengths were left open, measured and joined.
//!
//! Invariant: the lengths in an encoded file are correct.

/// The bytes of the header of an encoded file.
const HEAD_BYTES: usize = 44;
const RIFF_BYTES: usize = 12;
const CHUNK_HEAD_BYTES: usize = 8;
const FORMAT_PCM: u16 = 1;

/// A file of uncompressed samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WavFile<'a> {
    pub format: WavFormat,
    pub samples: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WavFormat {
    pub channels: u16,
    /// Samples a second.
    pub sample_rate: u32,
    /// Bits of a sample.
    pub bits_per_sample: u16,
}

/// The reason a file cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WavError {
    NotWav,
    Compressed,
    Truncated,
    MixedFormats,
    TooLong,
}

impl std::fmt::Display for WavError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            WavError::NotWav => "it is not a WAV file",
            WavError::Compressed => "its samples are compressed",
            WavError::Truncated => "it ends too early",
            WavError::MixedFormats => "the pieces have different formats",
            WavError::TooLong => "it is too long",
        })
    }
}

impl std::error::Error for WavError {}

impl<'a> WavFile<'a> {
    /// Parses a file. Samples whose declared length exceeds the file end with the file: a program
    /// that writes to a pipe does not know the length in advance.
    pub fn parse(file: &'a [u8]) -> Result<WavFile<'a>, WavError> {
        let riff = file.get(..RIFF_BYTES).ok_or(WavError::NotWav)?;
        if &riff[..4] != b"RIFF" || &riff[8..] != b"WAVE" {
            return Err(WavError::NotWav);
        }
        let (mut format, mut at) = (None, RIFF_BYTES);
        loop {
            let head = file
                .get(at..at + CHUNK_HEAD_BYTES)
                .ok_or(WavError::Truncated)?;
            let size = u32_at(head, 4).ok_or(WavError::Truncated)? as usize;
            let body = file.get(at + CHUNK_HEAD_BYTES..).unwrap_or_default();
            match (&head[..4], format) {
                (b"fmt ", _) => format = Some(WavFormat::parse(body)?),
                (b"data", Some(format)) => {
                    let samples = &body[..size.min(body.len())];
                    // A cut-off last frame would swap the channels of the sound joined after it.
                    let whole = samples.len() - samples.len() % format.frame_bytes();
                    return Ok(WavFile {
                        format,
                        samples: &samples[..whole],
                    });
                }
                _ => {}
            }
            // RIFF chunks are padded to an even length.
            let next = size.checked_add(size % 2 + CHUNK_HEAD_BYTES);
            at = next
                .and_then(|step| at.checked_add(step))
                .ok_or(WavError::Truncated)?;
        }
    }

    pub fn duration_ms(&self) -> u64 {
        let frames = (self.samples.len() / self.format.frame_bytes()) as u64;
        frames * 1_000 / u64::from(self.format.sample_rate)
    }

    /// Returns the same sound with correct lengths.
    pub fn to_bytes(&self) -> Result<Vec<u8>, WavError> {
        encode(self.format, &[self.samples])
    }
}

impl WavFormat {
    fn parse(body: &[u8]) -> Result<WavFormat, WavError> {
        let number = |at| u16_at(body, at).ok_or(WavError::Truncated);
        let format = WavFormat {
            channels: number(2)?,
            sample_rate: u32_at(body, 4).ok_or(WavError::Truncated)?,
            bits_per_sample: number(14)?,
        };
        if number(0)? != FORMAT_PCM {
            return Err(WavError::Compressed);
        }
        // Rejects values that would divide by zero or overflow later.
        let is_sound = format.channels > 0
            && format.sample_rate > 0
            && format.bits_per_sample > 0
            && format.bits_per_sample.is_multiple_of(8)
            && format.bits_per_sample <= 64
            && format.channels <= 64;
        is_sound.then_some(format).ok_or(WavError::NotWav)
    }

    fn frame_bytes(self) -> usize {
        usize::from(self.channels) * usize::from(self.bits_per_sample / 8)
    }
}

/// Joins the sound of several files; they must have the same format.
pub fn join<F: AsRef<[u8]>>(files: &[F]) -> Result<Vec<u8>, WavError> {
    let read: Result<Vec<WavFile<'_>>, WavError> = files
        .iter()
        .map(|file| WavFile::parse(file.as_ref()))
        .collect();
    let read = read?;
    let format = read.first().ok_or(WavError::NotWav)?.format;
    if read.iter().any(|wav| wav.format != format) {
        return Err(WavError::MixedFormats);
    }
    let samples: Vec<&[u8]> = read.iter().map(|wav| wav.samples).collect();
    encode(format, &samples)
}

fn encode(format: WavFormat, samples: &[&[u8]]) -> Result<Vec<u8>, WavError> {
    let bytes: usize = samples.iter().map(|piece| piece.len()).sum();
    let pad = bytes % 2;
    let long = |_| WavError::TooLong;
    let size = u32::try_from(bytes).map_err(long)?;
    let whole = u32::try_from(bytes + pad + HEAD_BYTES - CHUNK_HEAD_BYTES).map_err(long)?;
    let frame = u16::try_from(format.frame_bytes()).map_err(long)?;
    let second = format.sample_rate.checked_mul(u32::from(frame));
    let second = second.ok_or(WavError::TooLong)?;
    let mut out = Vec::with_capacity(HEAD_BYTES + bytes + pad);
    out.extend_from_slice(b"RIFF");
    out.extend_from_slice(&whole.to_le_bytes());
    out.extend_from_slice(b"WAVEfmt ");
    out.extend_from_slice(&16_u32.to_le_bytes());
    out.extend_from_slice(&FORMAT_PCM.to_le_bytes());
    out.extend_from_slice(&format.channels.to_le_bytes());
    out.extend_from_slice(&format.sample_rate.to_le_bytes());
    out.extend_from_slice(&second.to_le_bytes());
    out.extend_from_slice(&frame.to_le_bytes());
    out.extend_from_slice(&format.bits_per_sample.to_le_bytes());
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
