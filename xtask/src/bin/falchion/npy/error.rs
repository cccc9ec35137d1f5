//! Why a file is no matrix that can be multiplied.

use std::{io, path::PathBuf};
use xtask::arguments::Dtype;

/// Why a `.npy` file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NpyError {
    /// The file cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Not a `.npy` file, or one of a future version.
    #[error("{} is not a .npy file: {reason}; write it with numpy.save", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Not a matrix.
    #[error("{} has {actual} dimensions, required are 2: reshape it, a vector x as x[:, None] or x[None, :]", path.display())]
    Rank {
        /// The file.
        path: PathBuf,
        /// Dimensions there are.
        actual: usize,
    },
    /// Elements of a type without kernels.
    #[error("{} has elements of numpy type `{actual}`, required is <f4, <f2 or (bf16) <V2: convert it, as in x.astype(numpy.float32)", path.display())]
    Dtype {
        /// The file.
        path: PathBuf,
        /// NumPy's name of its type.
        actual: String,
    },
    /// Two bytes without a meaning.
    #[error("{} has 16-bit elements without a type (`{actual}`): say --dtype bf16 if they are bf16", path.display())]
    Undeclared {
        /// The file.
        path: PathBuf,
        /// NumPy's name of its type.
        actual: String,
    },
    /// The file says something else than the caller.
    #[error("{} has elements of type {actual}, --dtype says {declared}", path.display())]
    Contradiction {
        /// The file.
        path: PathBuf,
        /// What the caller said.
        declared: Dtype,
        /// What the file says.
        actual: Dtype,
    },
    /// The data does not fill the shape, or more than fills it.
    #[error("{} has {actual} bytes of data, its shape requires {required}", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Bytes that the shape and the type need.
        required: u128,
        /// Bytes there are.
        actual: usize,
    },
}
