//! NumPy's `.npy` files (format 1.0 to 3.0): matrices of f32, f16 and bf16.
//!
//! NumPy has no bf16. `ml_dtypes` stores it as two bytes without a meaning (`<V2`), so such a file is read as bf16 only when
//! the caller says that it is.

mod error;
mod header;

pub use error::NpyError;

use bytemuck::Pod;
use falchion::{Element, Order};
use header::Header;
use std::{
    fs::File,
    io::{BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};
use xtask::arguments::Dtype;

/// An open file whose header was read.
pub struct NpyFile {
    path: PathBuf,
    reader: BufReader<File>,
    dtype: Dtype,
    rows: usize,
    columns: usize,
    order: Order,
}

impl NpyFile {
    /// Opens a matrix. `declared` says what the elements are where the file leaves it open.
    ///
    /// # Errors
    /// [`NpyError`]: unreadable, no `.npy` file, not two dimensions, not a supported type, or not the declared one.
    pub fn open(path: &Path, declared: Option<Dtype>) -> Result<Self, NpyError> {
        let io = |source| NpyError::Io { action: "read", path: path.to_owned(), source };
        let mut reader = BufReader::new(File::open(path).map_err(io)?);
        let header = Header::read(&mut reader, path)?;
        let dtype = header.dtype(path, declared)?;
        let &[rows, columns] = header.shape.as_slice() else {
            return Err(NpyError::Rank { path: path.to_owned(), actual: header.shape.len() });
        };
        let order = if header.fortran_order { Order::ColumnMajor } else { Order::RowMajor };
        Ok(Self { path: path.to_owned(), reader, dtype, rows, columns, order })
    }

    /// Element type.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Number of rows and columns.
    pub fn shape(&self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    /// C order is row-major, Fortran order column-major.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The elements in the file's own order.
    ///
    /// # Errors
    /// [`NpyError::Length`] when the file has fewer or more bytes than its header says.
    pub fn elements<T: Element + Pod>(mut self) -> Result<Vec<T>, NpyError> {
        let io = |source| NpyError::Io { action: "read", path: self.path.clone(), source };
        let mut bytes = Vec::new();
        self.reader.read_to_end(&mut bytes).map_err(io)?;
        let required = self.rows as u128 * self.columns as u128 * size_of::<T>() as u128;
        if bytes.len() as u128 != required {
            return Err(NpyError::Length { path: self.path, required, actual: bytes.len() });
        }
        let mut elements = vec![T::ZERO; self.rows * self.columns];
        bytemuck::cast_slice_mut(&mut elements).copy_from_slice(&bytes);
        Ok(elements)
    }
}

/// Writes a matrix whose elements are in `order`.
///
/// # Errors
/// [`NpyError::Io`].
pub fn write<T: Element + Pod>(path: &Path, elements: &[T], shape: [usize; 2], order: Order) -> Result<(), NpyError> {
    let write = || -> std::io::Result<()> {
        let mut writer = BufWriter::new(File::create(path)?);
        writer.write_all(&header::bytes(T::KIND, shape, order))?;
        writer.write_all(bytemuck::cast_slice(elements))?;
        writer.flush()
    };
    write().map_err(|source| NpyError::Io { action: "write", path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use falchion::{bf16, f16};

    fn file(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("falchion-npy-{}-{name}.npy", std::process::id()))
    }

    fn round_trip<T: Element + Pod>(name: &str, dtype: Dtype, order: Order) {
        let path = file(name);
        let elements: Vec<T> = (0..6).map(|value| T::from_f32(value as f32 / 4.0)).collect();
        write(&path, &elements, [2, 3], order).unwrap();
        let read = NpyFile::open(&path, Some(dtype)).unwrap();
        assert_eq!((read.dtype(), read.shape(), read.order()), (dtype, [2, 3], order));
        assert_eq!(read.elements::<T>().unwrap(), elements);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn matrices_read_back_as_they_were_written() {
        round_trip::<f32>("f32", Dtype::F32, Order::RowMajor);
        round_trip::<f16>("f16", Dtype::F16, Order::ColumnMajor);
        round_trip::<bf16>("bf16", Dtype::Bf16, Order::RowMajor);
    }

    #[test]
    fn a_file_cut_short_is_refused() {
        let path = file("short");
        write(&path, &[1.0f32; 6], [2, 3], Order::RowMajor).unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        let result = NpyFile::open(&path, None).unwrap().elements::<f32>();
        assert!(matches!(result, Err(NpyError::Length { required: 24, actual: 23, .. })));
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(NpyFile::open(&path, None), Err(NpyError::Io { action: "read", .. })));
    }
}
