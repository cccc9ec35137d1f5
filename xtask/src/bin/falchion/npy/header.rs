//! The header: magic, version, length, and a Python dictionary.
//!
//! Source: NumPy Enhancement Proposal 1, and `numpy.lib.format`.

use super::NpyError;
use falchion::{ElementKind, Order};
use std::{io::Read, path::Path};
use xtask::arguments::Dtype;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// The data begins at a multiple of this.
const ALIGNMENT: usize = 64;
/// No header of a plain array comes near; a broken length must not reserve gigabytes.
const LONGEST: usize = 1 << 20;

pub(super) struct Header {
    /// The type as NumPy writes it: `<f4`.
    pub(super) descr: String,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<usize>,
}

impl Header {
    pub(super) fn read(reader: &mut impl Read, path: &Path) -> Result<Self, NpyError> {
        let format = |reason: String| NpyError::Format { path: path.to_owned(), reason };
        let mut fill = |count: usize| -> Result<Vec<u8>, NpyError> {
            let mut bytes = vec![0; count];
            reader.read_exact(&mut bytes).map_err(|error| format(error.to_string()))?;
            Ok(bytes)
        };
        let start = fill(8)?;
        if &start[..6] != MAGIC {
            return Err(format("it does not begin with \\x93NUMPY".to_owned()));
        }
        let length = match start[6] {
            1 => fill(2)?.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte)),
            2 | 3 => fill(4)?.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte)),
            major => return Err(format(format!("it has format version {major}, known are 1 to 3"))),
        };
        if length > LONGEST {
            return Err(format(format!("its header has {length} bytes, at most {LONGEST} are plausible")));
        }
        let text = String::from_utf8(fill(length)?).map_err(|_| format("its header is not text".to_owned()))?;
        Self::parse(&text).ok_or_else(|| format(format!("its header is `{}`", text.trim())))
    }

    /// `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, keys in any order.
    fn parse(text: &str) -> Option<Self> {
        let value = |key: &str| Some(text.split_once(&format!("'{key}':"))?.1.trim_start());
        let descr = value("descr")?;
        let descr = match descr.strip_prefix('\'') {
            Some(rest) => rest.split_once('\'')?.0.to_owned(),
            // Structured types are lists of fields; quoted back as they are.
            None => descr.split_once(']')?.0.to_owned() + "]",
        };
        let fortran_order = match value("fortran_order")? {
            text if text.starts_with("True") => true,
            text if text.starts_with("False") => false,
            _ => return None,
        };
        let shape = value("shape")?.strip_prefix('(')?.split_once(')')?.0;
        let extents = shape.split(',').map(str::trim).filter(|extent| !extent.is_empty());
        let shape = extents.map(|extent| extent.parse().ok()).collect::<Option<_>>()?;
        Some(Self { descr, fortran_order, shape })
    }

    /// The element type, given what the caller says of it.
    pub(super) fn dtype(&self, path: &Path, declared: Option<Dtype>) -> Result<Dtype, NpyError> {
        let actual = match self.descr.as_str() {
            "<f4" => Dtype::F32,
            "<f2" => Dtype::F16,
            "bfloat16" => Dtype::Bf16,
            "<V2" | "|V2" | "V2" if declared == Some(Dtype::Bf16) => Dtype::Bf16,
            "<V2" | "|V2" | "V2" => {
                return Err(NpyError::Undeclared { path: path.to_owned(), actual: self.descr.clone() });
            }
            _ => return Err(NpyError::Dtype { path: path.to_owned(), actual: self.descr.clone() }),
        };
        match declared {
            Some(declared) if declared != actual => {
                Err(NpyError::Contradiction { path: path.to_owned(), declared, actual })
            }
            _ => Ok(actual),
        }
    }
}

/// A header of version 1.0, padded so that the data is aligned.
pub(super) fn bytes(element: ElementKind, [rows, columns]: [usize; 2], order: Order) -> Vec<u8> {
    let descr = match element {
        ElementKind::F32 => "<f4",
        ElementKind::F16 => "<f2",
        // What `ml_dtypes` writes.
        _ => "<V2",
    };
    let fortran = if order == Order::ColumnMajor { "True" } else { "False" };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({rows}, {columns}), }}");
    let prefix = MAGIC.len() + 4;
    let padding = ALIGNMENT - (prefix + text.len() + 1) % ALIGNMENT;
    text += &" ".repeat(padding % ALIGNMENT);
    text.push('\n');
    // Two numbers and these words stay far below 64 KiB.
    let length = (text.len() as u16).to_le_bytes();
    [MAGIC.as_slice(), &[1, 0], &length, text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, version: u8) -> Result<Header, NpyError> {
        let mut bytes = [MAGIC.as_slice(), &[version, 0]].concat();
        match version {
            1 => bytes.extend((text.len() as u16).to_le_bytes()),
            _ => bytes.extend((text.len() as u32).to_le_bytes()),
        }
        bytes.extend(text.as_bytes());
        Header::read(&mut bytes.as_slice(), Path::new("x.npy"))
    }

    #[test]
    fn numpys_headers_are_understood() {
        for version in [1, 2, 3] {
            let header = read("{'descr': '<f2', 'fortran_order': True, 'shape': (3, 40), }   \n", version).unwrap();
            assert_eq!((header.descr.as_str(), header.fortran_order, header.shape), ("<f2", true, vec![3, 40]));
        }
        let header = read("{'shape': (7,), 'fortran_order': False, 'descr': '<f4'}\n", 1).unwrap();
        assert_eq!((header.fortran_order, header.shape), (false, vec![7]));
        assert!(read("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 1).unwrap().shape.is_empty());
    }

    #[test]
    fn our_headers_are_aligned_and_understood() {
        for shape in [[0, 0], [1, 99_999_999_999], [4096, 4096]] {
            let bytes = bytes(ElementKind::Bf16, shape, Order::ColumnMajor);
            assert!(bytes.len().is_multiple_of(ALIGNMENT) && bytes.ends_with(b"\n"));
            let header = Header::read(&mut bytes.as_slice(), Path::new("x.npy")).unwrap();
            assert_eq!((header.descr.as_str(), header.fortran_order, header.shape), ("<V2", true, shape.to_vec()));
        }
    }

    #[test]
    fn what_is_no_npy_file_is_refused() {
        let refused = |bytes: &[u8]| Header::read(&mut &bytes[..], Path::new("x.npy")).map(|_| ()).unwrap_err();
        assert!(refused(b"PK\x03\x04....").to_string().contains("\\x93NUMPY"));
        assert!(refused(b"\x93NUMPY\x04\x00....").to_string().contains("version 4"));
        assert!(refused(b"\x93NUMPY\x02\x00\xff\xff\xff\x7f").to_string().contains("plausible"));
        assert!(matches!(read("{}", 1), Err(NpyError::Format { .. })));
        assert!(matches!(
            read("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 2)}", 1),
            Err(NpyError::Format { .. })
        ));
    }

    #[test]
    fn types_are_taken_at_their_word() {
        let dtype = |descr: &str, declared| {
            Header { descr: descr.to_owned(), fortran_order: false, shape: vec![] }.dtype(Path::new("x.npy"), declared)
        };
        assert_eq!(dtype("<f4", None).unwrap(), Dtype::F32);
        assert_eq!(dtype("<f2", Some(Dtype::F16)).unwrap(), Dtype::F16);
        assert_eq!(dtype("|V2", Some(Dtype::Bf16)).unwrap(), Dtype::Bf16);
        assert!(matches!(dtype("<V2", None), Err(NpyError::Undeclared { .. })));
        assert!(matches!(dtype("<V2", Some(Dtype::F16)), Err(NpyError::Undeclared { .. })));
        assert!(matches!(dtype("<f2", Some(Dtype::Bf16)), Err(NpyError::Contradiction { .. })));
        for other in ["<f8", ">f4", "<i4", "[('x', '<f4')]"] {
            assert!(matches!(dtype(other, None), Err(NpyError::Dtype { actual, .. }) if actual == other));
        }
    }
}
