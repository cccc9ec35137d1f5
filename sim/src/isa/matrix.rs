//! `ldmatrix`, `stmatrix`, `movmatrix`: 8 × 8 matrices of 16-bit elements between shared memory and registers.
//!
//! Lanes 8m to 8m + 7 give the row addresses of matrix m. Lane l holds, in register m, the elements
//! (row l / 4, columns 2 (l mod 4) and 2 (l mod 4) + 1) of matrix m, the lower column in the lower half
//! (PTX ISA, "ldmatrix"); with `.trans` those of the transposed matrix.

use super::data::space;
use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::{Address, Inst};
use crate::error::ParseError;
use crate::fault::Space;
use crate::machine::context::{Context, Flow, Trap};
use crate::machine::registers::{Row, Slot};
use crate::memory::banks::matrix_wavefronts;
use crate::memory::window;

const CLASS: Class = Class::MatrixMove;

/// Elements of a matrix, `[row][column]`.
type Matrix = [[u16; 8]; 8];

fn row_from_bits(bits: u128) -> [u16; 8] {
    std::array::from_fn(|column| (bits >> (16 * column)) as u16)
}

fn row_to_bits(row: [u16; 8]) -> u128 {
    row.iter().rev().fold(0, |bits, &element| bits << 16 | u128::from(element))
}

fn transpose(matrix: &Matrix) -> Matrix {
    std::array::from_fn(|row| std::array::from_fn(|column| matrix[column][row]))
}

/// The register of each lane that a matrix is.
fn distribute(matrix: &Matrix) -> Row<u32> {
    std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, lane % 4 * 2);
        u32::from(matrix[row][column]) | u32::from(matrix[row][column + 1]) << 16
    })
}

/// The matrix that a register of each lane is.
fn collect(registers: &Row<u32>) -> Matrix {
    std::array::from_fn(|row| {
        std::array::from_fn(|column| (registers[row * 4 + column / 2] >> (16 * (column % 2))) as u16)
    })
}

/// `ldmatrix`, `stmatrix`, `movmatrix`.
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    let well_formed = i.flag("sync") && i.flag("aligned") && i.flag("m8n8");
    if !well_formed || i.take_type() != "b16" {
        return Err(i.unknown());
    }
    match i.mnemonic() {
        "movmatrix" => {
            if !i.flag("trans") {
                return Err(i.unknown());
            }
            let (d, a) = (i.dest::<u32>(0)?, i.source::<u32>(1)?);
            Ok(Decoded::new(CLASS, move |c| {
                c.require_active(u32::MAX)?;
                let moved = distribute(&transpose(&collect(c.row(a))));
                c.put(d, &moved);
                Ok(Flow::Next)
            }))
        }
        "ldmatrix" => load(i),
        _ => store(i),
    }
}

struct Shape {
    matrices: usize,
    transposed: bool,
    space: Option<Space>,
}

fn shape(i: &mut Inst<'_, '_>, data: usize) -> Result<Shape, ParseError> {
    let matrices = match i.choose(&["x1", "x2", "x4"]) {
        Some("x1") => 1,
        Some("x2") => 2,
        Some(_) => 4,
        None => return Err(i.unknown()),
    };
    let transposed = i.flag("trans");
    let space = space(i);
    if i.items(data)?.len() != matrices {
        return Err(i.operand_error(data, format!("{matrices} registers are required")));
    }
    Ok(Shape { matrices, transposed, space })
}

/// The shared addresses of all lanes; counts the phases of the first `matrices` × 8.
fn row_addresses(c: &mut Context<'_, '_>, address: Address, shape: &Shape) -> Row<u64> {
    let mut addresses = address.lanes(c);
    if shape.space.is_none() {
        addresses = addresses.map(|address| match window::resolve(address) {
            (Space::Shared, address) => address,
            // Out of bounds of shared memory whatever its size.
            (_, address) => address | 1 << 63,
        });
    }
    c.count.shared_requests += 1;
    for rows in addresses.chunks(8).take(shape.matrices) {
        let wavefronts = u64::from(matrix_wavefronts(rows));
        c.count.wavefronts += wavefronts;
        c.count.conflicts += wavefronts - 1;
    }
    addresses
}

fn load(i: &mut Inst<'_, '_>) -> Decoding {
    let shape = shape(i, 0)?;
    let registers: Vec<Slot<u32>> = i.items(0)?.iter().map(|item| i.dest_operand(0, item)).collect::<Result<_, _>>()?;
    let address = i.address(1)?;
    Ok(Decoded::new(CLASS, move |c| {
        c.require_active(u32::MAX)?;
        let addresses = row_addresses(c, address, &shape);
        for (index, &register) in registers.iter().enumerate() {
            let mut matrix: Matrix = Default::default();
            for (row, elements) in matrix.iter_mut().enumerate() {
                let lane = (8 * index + row) as u32;
                let agent = c.agent(lane);
                let bits = c
                    .block
                    .shared
                    .load(&c.team.clocks, agent, addresses[lane as usize], 16)
                    .map_err(|kind| Trap::lane(lane, *kind))?;
                *elements = row_from_bits(bits);
            }
            if shape.transposed {
                matrix = transpose(&matrix);
            }
            c.put(register, &distribute(&matrix));
        }
        Ok(Flow::Next)
    }))
}

fn store(i: &mut Inst<'_, '_>) -> Decoding {
    let shape = shape(i, 1)?;
    let registers: Vec<Slot<u32>> =
        i.items(1)?.iter().map(|item| i.source_operand(1, item)).collect::<Result<_, _>>()?;
    let address = i.address(0)?;
    Ok(Decoded::new(CLASS, move |c| {
        c.require_active(u32::MAX)?;
        let addresses = row_addresses(c, address, &shape);
        for (index, &register) in registers.iter().enumerate() {
            let mut matrix = collect(c.row(register));
            if shape.transposed {
                matrix = transpose(&matrix);
            }
            for (row, elements) in matrix.into_iter().enumerate() {
                let lane = (8 * index + row) as u32;
                let agent = c.agent(lane);
                c.block
                    .shared
                    .store(&c.team.clocks, agent, addresses[lane as usize], 16, row_to_bits(elements))
                    .map_err(|kind| Trap::lane(lane, *kind))?;
            }
        }
        Ok(Flow::Next)
    }))
}
