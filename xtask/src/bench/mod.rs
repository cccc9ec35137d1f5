//! The parts of `bench` that need no GPU: what is measured, whether results agree, and the report.

pub mod agreement;
pub mod report;
pub mod suite;
