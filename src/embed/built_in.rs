//! Models on the runtime that is part of this program, in Rust: tract.
//!
//! In the default build, because there is no other way to a meaning without an ONNX Runtime. It is used
//! directly and not through its bridge to `ort`: behind the bridge, whose functions are
//! C's, a panic ends the process (a wrong name in a model's graph is enough), one process can have
//! only one of the two runtimes, and a model computes on one core.

use std::path::Path;
use std::sync::Arc;

use tract_onnx::prelude::{
    DatumExt, Framework, InferenceModelExt, IntoTValue, TValue, Tensor, ToDim, TractError,
    TractResult, TypedRunnableModel,
};
use tract_onnx::tract_core::model::IntoRunnable;

use super::answer::ModelOutput;
use super::guard::guarded;
use super::pieces::Piece;
use super::quantize;
use super::quantize::DynamicQuantize;

/// A model, loaded. Computes on the caller's thread; several may call at once.
pub(super) struct BuiltInModel {
    plan: Arc<TypedRunnableModel>,
    /// In the order in which the graph takes its inputs.
    inputs: Vec<Input>,
}

#[derive(Clone, Copy)]
enum Input {
    Ids,
    Mask,
    Types,
}

impl BuiltInModel {
    /// Loads the model in `file` for one of its outputs.
    pub fn load(file: &Path, output: &str) -> Result<BuiltInModel, String> {
        let load = || -> TractResult<BuiltInModel> {
            // Shapes that the file notes name dimensions of their own; the inputs' are set here.
            let onnx = tract_onnx::onnx().with_ignore_value_info(true);
            let onnx = onnx.with_ignore_output_shapes(true);
            let mut model = onnx.model_for_path(file)?;
            // What leads only to other outputs is not computed.
            model.select_outputs_by_name([output])?;
            let outlets = model.input_outlets()?.to_vec();
            let names = outlets.iter().map(|outlet| &*model.node(outlet.node).name);
            let inputs = names
                .map(|name| match name {
                    "input_ids" => Input::Ids,
                    "attention_mask" => Input::Mask,
                    _ => Input::Types,
                })
                .collect();
            // One text a run, of at least one token: only what is proven of the shapes lets tract
            // choose its faster operators.
            let tokens = model.symbols.sym("tokens");
            model.symbols.add_assertion("tokens >= 1")?;
            for input in 0..outlets.len() {
                let shape = [1.to_dim(), tokens.to_dim()];
                model.set_input_fact(input, i64::fact(shape).into())?;
            }
            let mut model = model.into_typed()?;
            for node in &mut model.nodes {
                if node.op.name() == quantize::OF_TRACT {
                    node.op = Box::new(DynamicQuantize);
                }
            }
            let plan = model.into_optimized()?.into_runnable()?;
            Ok(BuiltInModel { plan, inputs })
        };
        guarded(load)?.map_err(|error| brief(&error))
    }

    /// Returns the output for one piece.
    pub fn run(&self, piece: &Piece) -> Result<ModelOutput, String> {
        let shape = [1, piece.len()];
        let run = || -> TractResult<ModelOutput> {
            let mut inputs: Vec<TValue> = Vec::new();
            for input in &self.inputs {
                let tensor = match input {
                    Input::Ids => Tensor::from_shape(&shape, &piece.ids)?,
                    Input::Mask => Tensor::from_shape(&shape, &vec![1_i64; piece.len()])?,
                    Input::Types => Tensor::from_shape(&shape, &piece.types)?,
                };
                inputs.push(tensor.into_tvalue());
            }
            let outputs = self.plan.run(inputs.into())?;
            let output = outputs[0].to_plain_array_view::<f32>()?;
            Ok(ModelOutput {
                shape: output.shape().to_vec(),
                values: output.iter().copied().collect(),
            })
        };
        guarded(run)?.map_err(|error| brief(&error))
    }
}

/// Returns the error with its causes, which may show whole tensors.
fn brief(error: &TractError) -> String {
    let text = format!("{error:#}");
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
