//! Branches and exits.

use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::Inst;
use crate::decode::flow;
use crate::fault::FaultKind;
use crate::machine::context::{Flow, Trap, lanes};
use crate::machine::warp::NEVER;

const CLASS: Class = Class::Control;

/// `bra`, `brx`, `ret`, `exit`, `trap`, `nanosleep`, …
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    match i.mnemonic() {
        "bra" => bra(i),
        "brx" => brx(i),
        "ret" | "exit" => {
            i.flag("uni");
            Ok(Decoded::new(CLASS, |c| {
                c.warp.last_pc = c.pc;
                c.warp.exit(c.active);
                Ok(Flow::Next)
            }))
        }
        "trap" | "brkpt" => Ok(Decoded::new(CLASS, |c| Err(Trap::lane(c.active.trailing_zeros(), FaultKind::Trap)))),
        "nanosleep" => {
            i.take_type();
            i.source::<u32>(0)?;
            Ok(Decoded::new(CLASS, |_| Ok(Flow::Yield)))
        }
        "pmevent" => {
            i.flag("mask");
            i.immediate(0)?;
            Ok(Decoded::new(CLASS, |_| Ok(Flow::Next)))
        }
        _ => Err(i.unknown()),
    }
}

fn bra(i: &mut Inst<'_, '_>) -> Decoding {
    i.flag("uni");
    i.operand(0)?;
    let target = flow::target(i.builder.function, i.ast, 0)? as u32;
    let next = i.index as u32 + 1;
    let reconverge = i.builder.flow.reconverge(i.index);
    // The path split off last runs first. Where the paths meet only at the exit, that is the one nearer to it: lanes
    // that return early must be gone when the others reach a barrier.
    let flow = i.builder.flow;
    let next_first = reconverge == NEVER && flow.distance(next as usize) < flow.distance(target as usize);
    Ok(Decoded::new(CLASS, move |c| {
        let mut paths = [(c.group & !c.active, next), (c.active, target)];
        if next_first {
            paths.reverse();
        }
        c.warp.split(&paths, reconverge);
        Ok(Flow::Next)
    }))
}

fn brx(i: &mut Inst<'_, '_>) -> Decoding {
    if !i.flag("idx") {
        return Err(i.unknown());
    }
    i.flag("uni");
    let index = i.source::<u32>(0)?;
    i.operand(1)?;
    let targets = flow::targets(i.builder.function, i.ast)?;
    let next = i.index as u32 + 1;
    let reconverge = i.builder.flow.reconverge(i.index);
    Ok(Decoded::new(CLASS, move |c| {
        let mut paths = vec![(c.group & !c.active, next)];
        for lane in lanes(c.active) {
            let index = c.row(index)[lane as usize];
            let Some(&target) = targets.get(index as usize) else {
                let targets = targets.len() as u32;
                return Err(Trap::lane(lane, FaultKind::BadBranchIndex { index, targets }));
            };
            match paths.iter_mut().skip(1).find(|(_, pc)| *pc == target as u32) {
                Some((mask, _)) => *mask |= 1 << lane,
                None => paths.push((1 << lane, target as u32)),
            }
        }
        c.warp.split(&paths, reconverge);
        Ok(Flow::Next)
    }))
}
