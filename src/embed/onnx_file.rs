//! Reads the inputs and outputs of a model from its file in ONNX.
//!
//! Reads a few kilobytes of the file, wherever they stand in it, and passes over the weights, so
//! that a model of hundreds of megabytes is looked at in a moment and without a runtime. Promises:
//! a file that is cut short, or is something else, is an error; no length that the file claims is
//! believed beyond the file's end. Whether the graph can be run is left to the runtimes.

use std::fs::File;
use std::io;
use std::io::{BufReader, Read};
use std::path::Path;

/// The inputs that a caller must give, and the outputs, in the file's order.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Signature {
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
}

/// One input or output.
#[derive(Debug, Default, PartialEq, Clone)]
pub(super) struct Port {
    /// Name of the input or output.
    pub name: String,
    /// ONNX's number for the type of the elements: [`FLOAT`], [`INT64`].
    pub element: u64,
    /// The size of each dimension, `None` for those that differ from run to run. Absent if the
    /// file does not say how many there are.
    pub shape: Option<Vec<Option<usize>>>,
}

pub(super) const FLOAT: u64 = 1;
pub(super) const INT64: u64 = 7;

/// Reads the signature of the model in `file`.
///
/// # Errors
///
/// Says why the file cannot be read, or is no whole model in ONNX.
pub(super) fn signature(file: &Path) -> Result<Signature, String> {
    let read = || -> io::Result<Signature> {
        let opened = File::open(file)?;
        let length = opened.metadata()?.len();
        let mut wire = ProtobufReader {
            reader: BufReader::with_capacity(4096, opened),
            at: 0,
        };
        model(&mut wire, length)
    };
    read().map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            format!("it is no whole model in ONNX: {error}")
        }
        _ => error.to_string(),
    })
}

// Numbers of fields in `onnx.proto`.
const MODEL_GRAPH: u64 = 7;
const GRAPH_INITIALIZER: u64 = 5;
const GRAPH_INPUT: u64 = 11;
const GRAPH_OUTPUT: u64 = 12;
const TENSOR_NAME: u64 = 8;
const VALUE_NAME: u64 = 1;
const VALUE_TYPE: u64 = 2;
const TYPE_TENSOR: u64 = 1;
const TENSOR_ELEMENT: u64 = 1;
const TENSOR_SHAPE: u64 = 2;
const SHAPE_DIMENSION: u64 = 1;
const DIMENSION_VALUE: u64 = 1;

fn model(wire: &mut ProtobufReader, end: u64) -> io::Result<Signature> {
    let mut found = None;
    while let Some(field) = wire.field(end)? {
        match field {
            Field::Bytes(MODEL_GRAPH, end) => found = Some(graph(wire, end)?),
            other => wire.skip(&other)?,
        }
    }
    found.ok_or_else(|| damaged("it holds no graph"))
}

fn graph(wire: &mut ProtobufReader, end: u64) -> io::Result<Signature> {
    let mut signature = Signature::default();
    let mut weights = Vec::new();
    while let Some(field) = wire.field(end)? {
        match field {
            Field::Bytes(GRAPH_INITIALIZER, end) => weights.push(weight(wire, end)?),
            Field::Bytes(GRAPH_INPUT, end) => signature.inputs.push(port(wire, end)?),
            Field::Bytes(GRAPH_OUTPUT, end) => signature.outputs.push(port(wire, end)?),
            other => wire.skip(&other)?,
        }
    }
    // Old files list their weights among the inputs.
    signature
        .inputs
        .retain(|input| !weights.contains(&input.name));
    Ok(signature)
}

fn weight(wire: &mut ProtobufReader, end: u64) -> io::Result<String> {
    let mut name = String::new();
    while let Some(field) = wire.field(end)? {
        match field {
            Field::Bytes(TENSOR_NAME, end) => name = wire.text(end)?,
            other => wire.skip(&other)?,
        }
    }
    Ok(name)
}

fn port(wire: &mut ProtobufReader, end: u64) -> io::Result<Port> {
    let mut port = Port::default();
    while let Some(field) = wire.field(end)? {
        match field {
            Field::Bytes(VALUE_NAME, end) => port.name = wire.text(end)?,
            Field::Bytes(VALUE_TYPE, end) => kind(wire, end, &mut port)?,
            other => wire.skip(&other)?,
        }
    }
    Ok(port)
}

fn kind(wire: &mut ProtobufReader, end: u64, port: &mut Port) -> io::Result<()> {
    while let Some(field) = wire.field(end)? {
        match field {
            Field::Bytes(TYPE_TENSOR, end) => tensor(wire, end, port)?,
            other => wire.skip(&other)?,
        }
    }
    Ok(())
}

fn tensor(wire: &mut ProtobufReader, end: u64, port: &mut Port) -> io::Result<()> {
    while let Some(field) = wire.field(end)? {
        match field {
            Field::Number(TENSOR_ELEMENT, element) => port.element = element,
            Field::Bytes(TENSOR_SHAPE, end) => port.shape = Some(shape(wire, end)?),
            other => wire.skip(&other)?,
        }
    }
    Ok(())
}

fn shape(wire: &mut ProtobufReader, end: u64) -> io::Result<Vec<Option<usize>>> {
    let mut shape = Vec::new();
    while let Some(field) = wire.field(end)? {
        match field {
            Field::Bytes(SHAPE_DIMENSION, end) => shape.push(dimension(wire, end)?),
            other => wire.skip(&other)?,
        }
    }
    Ok(shape)
}

fn dimension(wire: &mut ProtobufReader, end: u64) -> io::Result<Option<usize>> {
    let mut size = None;
    while let Some(field) = wire.field(end)? {
        match field {
            // Some programs write zero, or a negative number, for a size that is not known.
            Field::Number(DIMENSION_VALUE, value) => {
                size = usize::try_from(value.cast_signed())
                    .ok()
                    .filter(|size| *size > 0);
            }
            other => wire.skip(&other)?,
        }
    }
    Ok(size)
}

/// Protocol buffers as they stand in a file.
struct ProtobufReader {
    reader: BufReader<File>,
    at: u64,
}

/// A field by its number: a number, or bytes up to a place in the file, not read yet.
enum Field {
    Number(u64, u64),
    Bytes(u64, u64),
    /// Four or eight bytes.
    Fixed(u64),
}

impl ProtobufReader {
    /// Returns the next field of a message that ends at `end`; none at its end.
    fn field(&mut self, end: u64) -> io::Result<Option<Field>> {
        if self.at >= end {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = tag >> 3;
        let field = match tag & 7 {
            0 => Field::Number(number, self.varint()?),
            1 => Field::Fixed(8),
            2 => {
                let length = self.varint()?;
                let stop = self.at.checked_add(length).filter(|stop| *stop <= end);
                Field::Bytes(
                    number,
                    stop.ok_or_else(|| damaged("it ends before what it announces"))?,
                )
            }
            5 => Field::Fixed(4),
            _ => return Err(damaged("it is written in another way")),
        };
        if number == 0 {
            return Err(damaged("it is written in another way"));
        }
        Ok(Some(field))
    }

    fn skip(&mut self, field: &Field) -> io::Result<()> {
        let stop = match field {
            Field::Number(..) => self.at,
            Field::Bytes(_, stop) => *stop,
            Field::Fixed(bytes) => self.at + bytes,
        };
        let distance = stop - self.at;
        self.reader
            .seek_relative(i64::try_from(distance).map_err(|_| damaged("it is too large"))?)?;
        self.at = stop;
        Ok(())
    }

    fn text(&mut self, end: u64) -> io::Result<String> {
        // Longer than any name.
        let length = end - self.at;
        let length = usize::try_from(length)
            .ok()
            .filter(|length| *length <= 65_536)
            .ok_or_else(|| damaged("a name in it is too long"))?;
        let mut bytes = vec![0; length];
        self.reader.read_exact(&mut bytes)?;
        self.at = end;
        String::from_utf8(bytes).map_err(|_| damaged("a name in it is no text"))
    }

    fn varint(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for place in 0..10 {
            let mut byte = [0];
            self.reader.read_exact(&mut byte)?;
            self.at += 1;
            value |= u64::from(byte[0] & 0x7f) << (7 * place);
            if byte[0] & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(damaged("it is written in another way"))
    }
}

fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn message(number: u8, inside: &[u8]) -> Vec<u8> {
        let length = u8::try_from(inside.len()).unwrap();
        assert!(length < 128);
        [&[number << 3 | 2, length], inside].concat()
    }

    fn number(number: u8, value: u8) -> Vec<u8> {
        vec![number << 3, value]
    }

    /// Returns an input or output: its name, and a shape in which 0 stands for a size that differs.
    fn value(name: &str, shape: &[u8]) -> Vec<u8> {
        let dimension = |size: &u8| match size {
            0 => message(1, &message(2, b"n")),
            size => message(1, &number(1, *size)),
        };
        let shape: Vec<u8> = shape.iter().flat_map(dimension).collect();
        let tensor = [number(1, 7), message(2, &shape)].concat();
        [
            message(1, name.as_bytes()),
            message(2, &message(1, &tensor)),
        ]
        .concat()
    }

    fn read(bytes: &[u8]) -> Result<Signature, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        signature(file.path())
    }

    #[test]
    fn inputs_and_outputs_are_read_and_weights_passed_over() {
        let weight = [message(9, b"some bytes"), message(8, b"table")].concat();
        let graph = [
            message(1, b"a node"),
            message(11, &value("input_ids", &[0, 0])),
            message(11, &value("table", &[2, 3])),
            message(5, &weight),
            message(12, &value("states", &[0, 0, 32])),
        ];
        let model = [number(1, 8), message(7, &graph.concat()), message(14, b"?")].concat();
        let port = |name: &str, shape: &[Option<usize>]| Port {
            name: name.to_owned(),
            element: INT64,
            shape: Some(shape.to_vec()),
        };
        let expected = Signature {
            inputs: vec![port("input_ids", &[None, None])],
            outputs: vec![port("states", &[None, None, Some(32)])],
        };
        assert_eq!(read(&model), Ok(expected));
    }

    #[test]
    fn a_length_beyond_the_end_is_damage() {
        check(
            &[0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f],
            "ends before what it announces",
        );
        let far = [
            0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
        ];
        check(&far, "ends before what it announces");
        check(&message(7, &[0x5a, 0x7f]), "ends before what it announces");
        check(&[0x3a], "failed to fill whole buffer");
    }

    #[test]
    fn what_is_something_else_is_told() {
        check(b"", "it holds no graph");
        check(b"{\"a\": 1}", "it is written in another way");
        check(&[0xff; 12], "it is written in another way");
        check(
            &message(7, &message(11, &message(1, &[0xff]))),
            "a name in it is no text",
        );
    }

    #[track_caller]
    fn check(bytes: &[u8], expected: &str) {
        let why = read(bytes).unwrap_err();
        assert!(why.contains(expected), "{why}");
    }
}
