//! Floating-point formats narrower than what the host computes in, rounded once.

pub(crate) mod exact;
pub(crate) mod format;
