//! `cron.preview`: a schedule in words, and its next due times. Nothing is stored.

use super::CronContext;
use super::settings;
use super::terms::invalid;
use hob_core::schedule::{ActiveHours, Calendar};
use hob_wire::limits::NAME_BYTES_MAX;
use hob_wire::rooms::cron::{CronPreview, CronPreviewParams};
use hob_wire::{ErrorCode, WireError};

const COUNT_DEFAULT: u32 = 5;
const COUNT_MAX: u32 = 100;

impl CronContext {
    pub(super) async fn preview(
        &self,
        params: CronPreviewParams,
    ) -> Result<CronPreview, WireError> {
        let count = params.count.unwrap_or(COUNT_DEFAULT);
        if !(1..=COUNT_MAX).contains(&count) {
            return Err(invalid(format!("`count` is between 1 and {COUNT_MAX}.")));
        }
        let hours = params.active_hours.as_deref().unwrap_or_default();
        if params.rule.len() > NAME_BYTES_MAX || hours.len() > NAME_BYTES_MAX {
            let message = format!("`rule` and `activeHours` have at most {NAME_BYTES_MAX} bytes.");
            return Err(invalid(message));
        }
        let zone = match &params.zone {
            Some(name) => settings::parse_zone(name).map_err(invalid)?,
            None => self.zone.clone(),
        };
        let now_ms = self.now_ms();
        // Rare due times within active hours are searched for over years.
        let counted = tokio::task::spawn_blocking(move || {
            let calendar = Calendar::parse(&params.rule, zone, now_ms)?;
            let hours = params.active_hours.as_deref().map(ActiveHours::parse);
            Ok(CronPreview {
                next: calendar.next_few(now_ms, hours.transpose()?.as_ref(), count as usize),
                about: calendar.describe(&params.rule),
                zone: calendar.zone().iana_name().map(str::to_owned),
            })
        });
        let failed = |_| WireError::new(ErrorCode::Internal, "the preview was interrupted");
        counted.await.map_err(failed)?.map_err(invalid)
    }
}
