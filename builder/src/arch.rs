//! The GPU architectures that kernels are compiled for.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A GPU architecture, in the names of `ptxas -arch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Arch {
    /// Turing (T4, RTX 20): compute capability 7.5.
    #[serde(rename = "sm_75")]
    Sm75,
    /// Ampere (A100): compute capability 8.0.
    #[serde(rename = "sm_80")]
    Sm80,
    /// Ada (L4, RTX 40): compute capability 8.9.
    #[serde(rename = "sm_89")]
    Sm89,
    /// Hopper (H100, H200) with its architecture-specific instructions (`wgmma`, `setmaxnreg`): compute capability 9.0.
    #[serde(rename = "sm_90a")]
    Sm90a,
}

impl Arch {
    /// Every architecture, oldest first.
    pub const ALL: [Arch; 4] = [Arch::Sm75, Arch::Sm80, Arch::Sm89, Arch::Sm90a];

    /// The name that LLVM's `-mcpu`, PTX's `.target` and `ptxas -arch` share.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Arch::Sm75 => "sm_75",
            Arch::Sm80 => "sm_80",
            Arch::Sm89 => "sm_89",
            Arch::Sm90a => "sm_90a",
        }
    }

    /// The compute capability as ten times major plus minor: 75, 80, 89, 90.
    #[must_use]
    pub const fn compute(self) -> u32 {
        match self {
            Arch::Sm75 => 75,
            Arch::Sm80 => 80,
            Arch::Sm89 => 89,
            Arch::Sm90a => 90,
        }
    }

    /// The architecture with a compute capability, as a kernel's description states it.
    #[must_use]
    pub fn from_compute(compute: u32) -> Option<Arch> {
        Arch::ALL.into_iter().find(|arch| arch.compute() == compute)
    }

    /// The PTX ISA version to emit, as ten times major plus minor.
    ///
    /// A driver refuses to compile PTX newer than itself, so this is the oldest version that has the instructions:
    /// 8.0 (driver 525) up to sm_80; 8.4 (driver 550) for `mma` on FP8 (sm_89) and `tensormap.replace` (sm_90a).
    #[must_use]
    pub const fn ptx_version(self) -> u32 {
        match self {
            Arch::Sm75 | Arch::Sm80 => 80,
            Arch::Sm89 | Arch::Sm90a => 84,
        }
    }

    /// Whether PTX for `self` can be assembled for `device`: PTX is forward compatible, except that the
    /// architecture-specific target sm_90a runs nowhere else.
    #[must_use]
    pub fn runs_on(self, device: Arch) -> bool {
        match self {
            Arch::Sm90a => device == Arch::Sm90a,
            _ => self.compute() <= device.compute(),
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A string that names no [`Arch`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown architecture `{0}`: expected sm_75, sm_80, sm_89 or sm_90a")]
pub struct UnknownArch(pub String);

impl FromStr for Arch {
    type Err = UnknownArch;

    fn from_str(text: &str) -> Result<Self, UnknownArch> {
        Arch::ALL.into_iter().find(|arch| arch.name() == text).ok_or_else(|| UnknownArch(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_capabilities_round_trip() {
        for arch in Arch::ALL {
            assert_eq!(arch.to_string().parse(), Ok(arch));
            assert_eq!(Arch::from_compute(arch.compute()), Some(arch));
            assert_eq!(serde_json::to_string(&arch).unwrap(), format!("\"{arch}\""));
        }
        assert_eq!("sm_90".parse::<Arch>(), Err(UnknownArch("sm_90".into())));
    }

    #[test]
    fn ptx_runs_forward_but_sm_90a_only_at_home() {
        assert!(Arch::Sm80.runs_on(Arch::Sm90a));
        assert!(!Arch::Sm89.runs_on(Arch::Sm80));
        assert!(Arch::Sm90a.runs_on(Arch::Sm90a));
        assert!(!Arch::Sm90a.runs_on(Arch::Sm89));
    }
}
