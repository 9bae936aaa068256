//! Fractions of 127-bit integers; an overflow is an error, never a rounded value.
//!
//! Invariant: the denominator is positive and shares no factor with the numerator.

use std::fmt;

/// Decimal places shown of a value with endless digits.
const DIGITS: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ratio {
    above: i128,
    below: i128,
}

impl Ratio {
    /// `above / below` in lowest terms; `None` on overflow or if `below` is zero.
    pub(super) fn new(above: i128, below: i128) -> Option<Ratio> {
        if below == 0 || above == i128::MIN || below == i128::MIN {
            return None;
        }
        let shared = gcd(above.unsigned_abs(), below.unsigned_abs());
        let shared = i128::try_from(shared).ok()?.max(1);
        let sign = below.signum();
        Some(Ratio {
            above: above / shared * sign,
            below: below / shared * sign,
        })
    }

    pub(super) fn whole(number: i128) -> Option<Ratio> {
        Ratio::new(number, 1)
    }

    pub(super) fn is_zero(self) -> bool {
        self.above == 0
    }

    pub(super) fn add(self, other: Ratio) -> Option<Ratio> {
        let left = self.above.checked_mul(other.below)?;
        let right = other.above.checked_mul(self.below)?;
        Ratio::new(
            left.checked_add(right)?,
            self.below.checked_mul(other.below)?,
        )
    }

    pub(super) fn negate(self) -> Ratio {
        // `new` refuses `i128::MIN`, so the negation cannot overflow.
        Ratio {
            above: -self.above,
            below: self.below,
        }
    }

    pub(super) fn multiply(self, other: Ratio) -> Option<Ratio> {
        // Common factors are cancelled first, so that a result that fits does not overflow on the way.
        let one = Ratio::new(self.above, other.below)?;
        let two = Ratio::new(other.above, self.below)?;
        let above = one.above.checked_mul(two.above)?;
        Ratio::new(above, one.below.checked_mul(two.below)?)
    }

    pub(super) fn divide(self, other: Ratio) -> Option<Ratio> {
        self.multiply(Ratio::new(other.below, other.above)?)
    }

    /// The remainder of a floored division; it has the sign of `other`.
    pub(super) fn modulo(self, other: Ratio) -> Option<Ratio> {
        let times = self.divide(other)?.floor();
        self.add(times.multiply(other)?.negate())
    }

    pub(super) fn power(self, exponent: Ratio) -> Option<Ratio> {
        if exponent.below != 1 {
            return None;
        }
        let base = if exponent.above < 0 {
            Ratio::new(self.below, self.above)?
        } else {
            self
        };
        let mut left = u32::try_from(exponent.above.unsigned_abs()).ok()?;
        let (mut value, mut square) = (Ratio::whole(1)?, base);
        while left > 0 {
            if left & 1 == 1 {
                value = value.multiply(square)?;
            }
            left >>= 1;
            if left > 0 {
                square = square.multiply(square)?;
            }
        }
        Some(value)
    }

    pub(super) fn floor(self) -> Ratio {
        Ratio {
            above: self.above.div_euclid(self.below),
            below: 1,
        }
    }

    pub(super) fn is_below(self, other: Ratio) -> Option<bool> {
        Some(self.add(other.negate())?.above < 0)
    }

    pub(super) fn abs(self) -> Ratio {
        Ratio {
            above: self.above.abs(),
            below: self.below,
        }
    }

    /// The value as a fraction or an integer.
    pub(super) fn exact(self) -> String {
        match self.below {
            1 => self.above.to_string(),
            below => format!("{}/{below}", self.above),
        }
    }

    /// The decimal digits up to `DIGITS` places, and true if they end there.
    fn decimal(self) -> (String, bool) {
        let below = self.below.unsigned_abs();
        let above = self.above.unsigned_abs();
        let mut text = (above / below).to_string();
        let mut rest = above % below;
        if rest > 0 {
            text.push('.');
        }
        let mut digits = 0;
        while rest > 0 && digits < DIGITS {
            // Ten times the rest may overflow; the digits then end here and count as inexact.
            let Some(tenfold) = rest.checked_mul(10) else {
                break;
            };
            text.push_str(&(tenfold / below).to_string());
            rest = tenfold % below;
            digits += 1;
        }
        if self.above < 0 {
            text.insert(0, '-');
        }
        (text, rest == 0)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.decimal() {
            (text, true) => f.write_str(&text),
            (text, false) => write!(f, "{} (about {text}…)", self.exact()),
        }
    }
}

fn gcd(mut one: u128, mut other: u128) -> u128 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}
