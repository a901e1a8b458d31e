//! A body that is a file: written to a folder for a while as it arrives.

use std::io::Write;
use std::time::Duration;

use ::http::StatusCode;
use axum::body::Body;
use http_body_util::BodyExt;

use crate::http::answer::RequestError;
use crate::page::{Parameters, Upload};

/// Maximum size of a file in bytes.
const MOST_BYTES: u64 = 4 << 30;

/// Maximum time until the next part arrives.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Receives the file that `parameters` name, with its format.
pub(super) async fn receive(
    parameters: &Parameters,
    mut body: Body,
) -> Result<Upload, RequestError> {
    let failed = |error: std::io::Error| {
        tracing::error!("cannot keep an upload: {error}");
        RequestError::internal()
    };
    let folder = crate::files::scratch_folder().map_err(failed)?;
    let name = parameters.get("name").unwrap_or("upload").to_owned();
    // Readers look at the end of the name only.
    let end = name
        .rsplit_once('.')
        .map(|(_, end)| end)
        .unwrap_or_default();
    let is_plain = end.len() <= 10 && end.chars().all(|c| c.is_ascii_alphanumeric());
    let in_folder = match is_plain && !end.is_empty() {
        true => format!("upload.{end}"),
        false => "upload".to_owned(),
    };
    let (path, mut file) = crate::files::scratch_file(&folder, &in_folder).map_err(failed)?;
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
            break;
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
            tokio::task::block_in_place(|| file.write_all(&data)).map_err(failed)?;
        }
    }
    Ok(Upload {
        folder,
        path,
        name,
        format: parameters.get("format").unwrap_or_default().to_owned(),
    })
}
