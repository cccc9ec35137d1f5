//! GPU architectures as values.

use crate::Error;
use std::{fmt, str::FromStr};

/// What code is compiled for: a compute capability, and whether it uses instructions of that
/// architecture alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    /// Ten times major plus minor: 80 is compute capability 8.0.
    pub compute: u32,
    /// Whether it is an `a` target, such as sm_90a, which runs on this compute capability only.
    pub specific: bool,
}

impl Arch {
    /// The forward-compatible target of a compute capability.
    #[must_use]
    pub const fn new(compute: u32) -> Self {
        Self { compute, specific: false }
    }

    /// The architecture-specific target of a compute capability.
    #[must_use]
    pub const fn specific(compute: u32) -> Self {
        Self { compute, specific: true }
    }

    /// Whether PTX for this target can be compiled for a device of compute capability `device`:
    /// PTX is forward compatible, except for `a` targets.
    #[must_use]
    pub const fn ptx_runs_on(self, device: u32) -> bool {
        if self.specific { self.compute == device } else { self.compute <= device }
    }

    /// Whether machine code for this target runs on compute capability `device`: within one major
    /// version, forward only, and `a` targets at home only.
    #[must_use]
    pub const fn cubin_runs_on(self, device: u32) -> bool {
        self.ptx_runs_on(device) && self.compute / 10 == device / 10
    }

    /// The target that PTX text names in its `.target` directive.
    #[must_use]
    pub fn of_ptx(ptx: &str) -> Option<Self> {
        let line = ptx.lines().map(str::trim).find_map(|line| line.strip_prefix(".target"))?;
        line.split([',', ' ', '\t']).map(str::trim).find(|word| !word.is_empty())?.parse().ok()
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.compute, if self.specific { "a" } else { "" })
    }
}

impl FromStr for Arch {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parse = || {
            let digits = text.strip_prefix("sm_")?;
            let (digits, specific) = digits.strip_suffix('a').map_or((digits, false), |digits| (digits, true));
            Some(Self { compute: digits.parse().ok()?, specific })
        };
        parse().ok_or_else(|| Error::UnknownArch { name: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_nonsense_is_refused() {
        for arch in [Arch::new(75), Arch::new(89), Arch::specific(90)] {
            assert_eq!(arch.to_string().parse::<Arch>().unwrap(), arch);
        }
        for text in ["", "sm_", "sm_a", "compute_80", "sm_80f"] {
            assert!(matches!(text.parse::<Arch>(), Err(Error::UnknownArch { name }) if name == text));
        }
    }

    #[test]
    fn ptx_is_forward_compatible_and_cubins_are_within_a_major_version() {
        assert!(Arch::new(80).ptx_runs_on(90) && !Arch::new(90).ptx_runs_on(80));
        assert!(Arch::new(80).cubin_runs_on(89) && !Arch::new(89).cubin_runs_on(80));
        assert!(!Arch::new(80).cubin_runs_on(90));
        assert!(Arch::specific(90).ptx_runs_on(90) && Arch::specific(90).cubin_runs_on(90));
        assert!(!Arch::specific(90).ptx_runs_on(100) && !Arch::specific(90).ptx_runs_on(89));
    }

    #[test]
    fn the_target_of_ptx_is_read() {
        assert_eq!(Arch::of_ptx("// x\n.version 8.0\n.target sm_90a, debug\n"), Some(Arch::specific(90)));
        assert_eq!(Arch::of_ptx(".version 8.0\n\t.target\tsm_80\n"), Some(Arch::new(80)));
        assert_eq!(Arch::of_ptx(".version 8.0\n"), None);
    }
}
