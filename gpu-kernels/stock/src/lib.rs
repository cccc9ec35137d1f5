//! falchion-stock
