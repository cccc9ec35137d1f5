//! The whole route, on the fixture crates.
