//! A body that is a file, or several: written to a folder for a while as it arrives.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::http::StatusCode;
use axum::body::Body;
use http_body_util::BodyExt;

use super::unpack::{Unpack, UnpackError};
use crate::http::answer::RequestError;
use crate::page::{Parameters, Upload};

/// Maximum size of a body in bytes.
const MOST_BYTES: u64 = 4 << 30;

/// Maximum time until the next part arrives.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Name of the folder of several files.
const FOLDER: &str = "upload";

/// Receives the file or, with the parameter `folder`, the files that `parameters` name, with their format.
pub(super) async fn receive(parameters: &Parameters, body: Body) -> Result<Upload, RequestError> {
    let folder = crate::files::scratch_folder().map_err(failed)?;
    let name = parameters.get("name").unwrap_or(FOLDER).to_owned();
    let format = parameters.get("format").unwrap_or_default().to_owned();
    let (path, files) = match parameters.get("folder") {
        Some(_) => {
            let mut unpack = Unpack::new(&folder, Path::new(FOLDER));
            take(body, |bytes| unpack.take(bytes).map_err(refused)).await?;
            let files = unpack.finish().map_err(refused)?;
            (folder.path().join(FOLDER), files)
        }
        None => {
            let made = crate::files::scratch_file(&folder, &name_on_disk(&name));
            let (path, mut file): (PathBuf, File) = made.map_err(failed)?;
            take(body, |bytes| file.write_all(bytes).map_err(failed)).await?;
            (path.clone(), vec![path])
        }
    };
    Ok(Upload {
        folder,
        path,
        files,
        name,
        format,
    })
}

/// Returns the name under which one file is kept: readers look at the end of a name only.
fn name_on_disk(name: &str) -> PathBuf {
    let end = name.rsplit_once('.');
    let end = end.map(|(_, end)| end).unwrap_or_default();
    let is_plain = end.len() <= 10 && end.chars().all(|c| c.is_ascii_alphanumeric());
    match is_plain && !end.is_empty() {
        true => format!("{FOLDER}.{end}").into(),
        false => FOLDER.into(),
    }
}

/// Hands the bytes of a body on as they come.
async fn take(
    mut body: Body,
    mut write: impl FnMut(&[u8]) -> Result<(), RequestError>,
) -> Result<(), RequestError> {
    let mut size = 0;
    loop {
        let frame = tokio::time::timeout(READ_TIMEOUT, body.frame()).await;
        let late = |_| {
            RequestError::new(
                StatusCode::REQUEST_TIMEOUT,
                "TIMEOUT",
                "the file comes too slowly",
            )
        };
        let Some(frame) = frame.map_err(late)? else {
            return Ok(());
        };
        let frame = frame.map_err(|_| RequestError::bad("the file broke off"))?;
        if let Ok(data) = frame.into_data() {
            size += data.len() as u64;
            if size > MOST_BYTES {
                let what = format!(
                    "the file has more than {MOST_BYTES} bytes: import it by `memdir import`"
                );
                return Err(RequestError::new(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "TOO_LARGE",
                    what,
                ));
            }
            tokio::task::block_in_place(|| write(&data))?;
        }
    }
}

fn refused(error: UnpackError) -> RequestError {
    match error {
        UnpackError::Bad(what) => RequestError::bad(&what),
        UnpackError::Io(error) => failed(error),
    }
}

fn failed(error: std::io::Error) -> RequestError {
    tracing::error!("cannot keep an upload: {error}");
    RequestError::internal()
}
